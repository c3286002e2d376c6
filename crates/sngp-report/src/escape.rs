//! Any string as harmless markup, or as JSON inside a page.

/// Escapes `text` for content and quoted attributes, of HTML and of SVG alike.
///
/// Control characters have no look, and XML has no way at all to write most of them; they become
/// the replacement character, so that a title with a stray escape code does not break the file.
/// Line breaks and tabs stay.
pub(crate) fn markup(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(character),
            '\r' => {}
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => {
                escaped.push('\u{fffd}');
            }
            other => escaped.push(other),
        }
    }
    escaped
}

/// JSON that may stand inside a `<script>` element: nothing in it can end the element, open a
/// comment, or break a line of a script.
pub(crate) fn json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            // Outside strings JSON has none of these, so a string's escape is right everywhere.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_quotes_become_entities_and_the_rest_stays() {
        assert_eq!(markup(r#"<a b="c" d='e'>&"#), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
        assert_eq!(markup("σ² – naïve 🦀"), "σ² – naïve 🦀");
    }

    #[test]
    fn characters_without_a_look_are_replaced() {
        assert_eq!(markup("a\u{1b}[1m\r\nx\0"), "a\u{fffd}[1m\nx\u{fffd}");
    }

    #[test]
    fn json_cannot_leave_its_element_and_still_says_the_same() {
        let text = "</script><!-- & \u{2028}\u{2029} \"q\" 🦀";
        let safe = json(&serde_json::to_string(text).unwrap());
        assert!(!safe.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
    }
}
