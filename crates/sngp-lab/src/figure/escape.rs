//! Any string as legal XML text.

/// Escapes `text` for element content and for attributes in double quotes.
///
/// XML 1.0 has no way at all to write most control characters, not even as entities, so those
/// become the replacement character: a title with a stray escape code must not break the file.
pub(super) fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::xml;

    #[test]
    fn markup_becomes_entities_and_the_rest_stays() {
        assert_eq!(xml("a < b & \"c\" > d"), "a &lt; b &amp; &quot;c&quot; &gt; d");
        assert_eq!(xml("σ² – naïve"), "σ² – naïve");
    }

    #[test]
    fn characters_xml_cannot_hold_are_replaced() {
        assert_eq!(xml("a\u{1b}[1m\nb\0"), "a\u{fffd}[1m b\u{fffd}");
    }
}
