/// A Python literal, as far as numpy uses them in its headers.
#[derive(Debug, PartialEq)]
pub(super) enum Literal {
    Text(String),
    Bool(bool),
    Number(u64),
    Tuple(Vec<Literal>),
    List(Vec<Literal>),
    Dict(Vec<(Literal, Literal)>),
}

/// Structured types nest a little; a file made to exhaust the stack nests a lot.
const MAX_DEPTH: usize = 16;

/// Parses a whole text; the error is the byte, from 0, where it is not a literal.
pub(super) fn parse(text: &str) -> Result<Literal, usize> {
    let mut parser = Parser { bytes: text.as_bytes(), at: 0 };
    let literal = parser.literal(MAX_DEPTH);
    parser.skip_space();
    match literal {
        Some(literal) if parser.at == text.len() => Ok(literal),
        _ => Err(parser.at),
    }
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn literal(&mut self, depth: usize) -> Option<Literal> {
        let depth = depth.checked_sub(1)?;
        self.skip_space();
        match *self.bytes.get(self.at)? {
            quote @ (b'\'' | b'"') => self.text(quote).map(Literal::Text),
            b'0'..=b'9' => self.number().map(Literal::Number),
            b'(' => self.items(b')', |parser| parser.literal(depth)).map(Literal::Tuple),
            b'[' => self.items(b']', |parser| parser.literal(depth)).map(Literal::List),
            b'{' => self.items(b'}', |parser| parser.entry(depth)).map(Literal::Dict),
            _ if self.take("True") => Some(Literal::Bool(true)),
            _ if self.take("False") => Some(Literal::Bool(false)),
            _ => None,
        }
    }

    fn entry(&mut self, depth: usize) -> Option<(Literal, Literal)> {
        let key = self.literal(depth)?;
        self.skip_space();
        self.take(":").then_some(())?;
        Some((key, self.literal(depth)?))
    }

    /// Items between commas, up to the closing mark; a comma may follow the last.
    fn items<T>(&mut self, close: u8, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_space();
            if self.bytes.get(self.at) == Some(&close) {
                self.at += 1;
                return Some(items);
            }
            if !items.is_empty() && !self.take(",") {
                return None;
            }
            self.skip_space();
            if self.bytes.get(self.at) != Some(&close) {
                items.push(item(self)?);
            }
        }
    }

    /// Text without escapes, which no type name needs.
    fn text(&mut self, quote: u8) -> Option<String> {
        let rest = &self.bytes[self.at + 1..];
        let length = rest.iter().position(|&byte| byte == quote || byte == b'\\')?;
        if rest[length] != quote {
            return None;
        }
        self.at += length + 2;
        Some(String::from_utf8_lossy(&rest[..length]).into_owned())
    }

    fn number(&mut self) -> Option<u64> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let digits = std::str::from_utf8(&rest[..length]).ok()?;
        let number = digits.parse().ok()?;
        self.at += length;
        // Python 2 wrote long integers so.
        self.take("L");
        Some(number)
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.bytes[self.at..].starts_with(word.as_bytes());
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn skip_space(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn headers_are_parsed() {
        let header = parse("{'descr': '<f4', \"shape\": (3, 4L), 'f': False,}  \n").unwrap();
        let text = |text: &str| Literal::Text(text.to_owned());
        let shape = Literal::Tuple(vec![Literal::Number(3), Literal::Number(4)]);
        let entries = vec![
            (text("descr"), text("<f4")),
            (text("shape"), shape),
            (text("f"), Literal::Bool(false)),
        ];
        assert_eq!(header, Literal::Dict(entries));
        assert_eq!(parse("()"), Ok(Literal::Tuple(vec![])));
        assert_eq!(
            parse("[(3,)]"),
            Ok(Literal::List(vec![Literal::Tuple(vec![Literal::Number(3)])]))
        );
    }

    #[test]
    fn what_is_no_literal_is_placed() {
        for (text, at) in [
            ("", 0),
            ("{'a': }", 6),
            ("(1 2)", 3),
            ("(-1,)", 1),
            ("(1,) x", 5),
            ("'a", 0),
            ("'a\\'", 0),
            ("{'a', 'b'}", 4),
            ("99999999999999999999", 0),
            ("(,)", 1),
        ] {
            assert_eq!(parse(text), Err(at), "{text:?}");
        }
        assert_eq!(parse(&"(".repeat(1 << 20)), Err(MAX_DEPTH));
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in "[(){}\\[\\]',:0-9TrueL é]{0,30}") {
            let _ = parse(&text);
        }
    }
}
