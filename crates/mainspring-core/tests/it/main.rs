//! Core from outside: what each seam answers when nobody is there, and when somebody is.

mod executor;
mod seams;
mod sleep;
