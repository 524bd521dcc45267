//! Just enough JSON to read what cargo prints.
//!
//! Numbers are kept as the text they were written as: nothing here computes with them.

use std::fmt;

/// How deep arrays and objects may nest before the text is refused.
const DEPTH_MAX: usize = 128;

/// One JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as written.
    Number(String),
    /// A string, unescaped.
    Text(String),
    /// An array.
    List(Vec<Value>),
    /// An object, in the order in which it was written.
    Map(Vec<(String, Value)>),
}

/// What stands for a key that is not there.
const ABSENT: &Value = &Value::Null;

impl Value {
    /// Reads one value that fills the whole text.
    pub(crate) fn parse(text: &str) -> Result<Self, Malformed> {
        let mut reader = Reader {
            bytes: text.as_bytes(),
            at: 0,
            depth: 0,
        };
        let value = reader.value()?;
        reader.blank();
        if reader.at < reader.bytes.len() {
            return Err(reader.malformed("the end of the text"));
        }
        Ok(value)
    }

    /// The value of a key; `null` when there is no such key or this is no object.
    pub(crate) fn at(&self, key: &str) -> &Value {
        let Value::Map(entries) = self else {
            return ABSENT;
        };
        let found = entries.iter().find(|(name, _)| name == key);
        found.map_or(ABSENT, |(_, value)| value)
    }

    /// The text of a string; empty for anything else.
    pub(crate) fn text(&self) -> &str {
        match self {
            Value::Text(text) => text,
            _ => "",
        }
    }

    /// The items of an array; none for anything else.
    pub(crate) fn items(&self) -> &[Value] {
        match self {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The entries of an object; none for anything else.
    pub(crate) fn entries(&self) -> &[(String, Value)] {
        match self {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Whether this is `true`.
    pub(crate) fn is_true(&self) -> bool {
        *self == Value::Bool(true)
    }

    /// Whether this is `null`, or the key was absent.
    pub(crate) fn is_null(&self) -> bool {
        *self == Value::Null
    }
}

/// Where a text stopped being JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed {
    at: usize,
    expected: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {} at byte {}", self.expected, self.at)
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn malformed(&self, expected: &'static str) -> Malformed {
        Malformed {
            at: self.at,
            expected,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, token: &'static str) -> bool {
        let found = self.bytes[self.at..].starts_with(token.as_bytes());
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &'static str) -> Result<(), Malformed> {
        if self.eat(token) {
            return Ok(());
        }
        Err(self.malformed(token))
    }

    fn value(&mut self) -> Result<Value, Malformed> {
        self.blank();
        match self.peek() {
            Some(b'{') => self.nested(Self::map),
            Some(b'[') => self.nested(Self::list),
            Some(b'"') => self.string().map(Value::Text),
            Some(b'-' | b'0'..=b'9') => Ok(self.number()),
            Some(b't') => self.expect("true").map(|()| Value::Bool(true)),
            Some(b'f') => self.expect("false").map(|()| Value::Bool(false)),
            Some(b'n') => self.expect("null").map(|()| Value::Null),
            _ => Err(self.malformed("a value")),
        }
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Value, Malformed>,
    ) -> Result<Value, Malformed> {
        if self.depth == DEPTH_MAX {
            return Err(self.malformed("less nesting"));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn map(&mut self) -> Result<Value, Malformed> {
        self.expect("{")?;
        let mut entries = Vec::new();
        self.blank();
        while !self.eat("}") {
            if !entries.is_empty() {
                self.expect(",")?;
                self.blank();
            }
            let key = self.string()?;
            self.blank();
            self.expect(":")?;
            entries.push((key, self.value()?));
            self.blank();
        }
        Ok(Value::Map(entries))
    }

    fn list(&mut self) -> Result<Value, Malformed> {
        self.expect("[")?;
        let mut items = Vec::new();
        self.blank();
        while !self.eat("]") {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(self.value()?);
            self.blank();
        }
        Ok(Value::List(items))
    }

    fn number(&mut self) -> Value {
        let start = self.at;
        while let Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        let text = String::from_utf8_lossy(&self.bytes[start..self.at]);
        Value::Number(text.into_owned())
    }

    fn string(&mut self) -> Result<String, Malformed> {
        self.expect("\"")?;
        let mut text = Vec::new();
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    self.at += 1;
                    let c = self.escape()?;
                    text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Some(byte) if byte >= b' ' => {
                    text.push(byte);
                    self.at += 1;
                }
                _ => return Err(self.malformed("the end of a string")),
            }
        }
        self.at += 1;
        // The text was UTF-8 and was cut only at ASCII bytes.
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn escape(&mut self) -> Result<char, Malformed> {
        let byte = self.peek();
        self.at += 1;
        Ok(match byte {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => {
                self.at -= 1;
                return Err(self.malformed("an escape"));
            }
        })
    }

    /// Four digits, or twice four for what lies beyond the basic plane. Half a pair alone becomes
    /// the replacement character, as in a lossy decoding.
    fn unicode(&mut self) -> Result<char, Malformed> {
        let first = self.four_digits()?;
        let mut code = first;
        if (0xD800..0xDC00).contains(&first) && self.bytes[self.at..].starts_with(b"\\u") {
            let before = self.at;
            self.at += 2;
            let second = self.four_digits()?;
            if (0xDC00..0xE000).contains(&second) {
                code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            } else {
                self.at = before;
            }
        }
        Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn four_digits(&mut self) -> Result<u32, Malformed> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let digit = digit.ok_or_else(|| self.malformed("a hexadecimal digit"))?;
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests;
