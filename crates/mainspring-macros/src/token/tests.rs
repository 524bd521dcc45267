//! A reader of token trees for the parsers' tests: a span is the number of a token, groups counted
//! before what is in them.

use super::{Bracket, Token, Tree};

/// The token trees of `text`, which has words, literals of strings and numbers, signs and brackets.
pub(crate) fn read(text: &str) -> Vec<Token<usize>> {
    let characters: Vec<char> = text.chars().collect();
    let mut reader = Reader {
        characters: &characters,
        at: 0,
        count: 0,
    };
    reader.trees()
}

struct Reader<'a> {
    characters: &'a [char],
    at: usize,
    count: usize,
}

impl Reader<'_> {
    fn trees(&mut self) -> Vec<Token<usize>> {
        let mut trees = Vec::new();
        while let Some(character) = self.next() {
            let span = self.count;
            let tree = match character {
                ' ' | '\n' => continue,
                ')' | ']' | '}' => break,
                '(' => self.group(Bracket::Round),
                '[' => self.group(Bracket::Square),
                '{' => self.group(Bracket::Curly),
                '"' => Tree::Literal(self.literal()),
                '0'..='9' => Tree::Literal(self.word(character)),
                _ if is_in_word(character) => Tree::Word(self.word(character)),
                sign => Tree::Sign(sign),
            };
            if !matches!(tree, Tree::Group(..)) {
                self.count += 1;
            }
            trees.push(Token { tree, span });
        }
        trees
    }

    fn next(&mut self) -> Option<char> {
        let character = self.characters.get(self.at).copied();
        self.at += 1;
        character
    }

    fn group(&mut self, bracket: Bracket) -> Tree<usize> {
        self.count += 1;
        Tree::Group(bracket, self.trees())
    }

    fn literal(&mut self) -> String {
        let mut text = "\"".to_owned();
        while let Some(character) = self.next() {
            text.push(character);
            if character == '"' {
                break;
            }
        }
        text
    }

    fn word(&mut self, first: char) -> String {
        let mut word = first.to_string();
        while let Some(character) = self.characters.get(self.at).copied() {
            if !is_in_word(character) {
                break;
            }
            word.push(character);
            self.at += 1;
        }
        word
    }
}

fn is_in_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[test]
fn reader_nests_and_counts_in_reading_order() {
    let trees = read("a(b, \"c d\") {}");
    assert_eq!(trees.len(), 3);
    assert!(trees[0].is_word("a"));
    let inside = trees[1].group(Bracket::Round).unwrap_or_default();
    let texts: Vec<_> = inside.iter().map(Token::text).collect();
    assert_eq!(texts, ["b", ",", "\"c d\""]);
    let spans: Vec<_> = inside.iter().map(|token| token.span).collect();
    assert_eq!(spans, [2, 3, 4]);
    assert_eq!(trees[2].span, 5);
}
