#[cfg(not(mainspring_loom))]
mod smoke;
#[cfg(test)]
mod support;
