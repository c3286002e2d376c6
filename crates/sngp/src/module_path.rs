//! Paths of parameters inside a module.

/// Where a visitor is: names of modules from the outermost to the innermost.
///
/// Burn names a variant of an enum as if it were a field. The [shipped
/// backbones](crate::backbone::Shipped) are one type for the sake of the code above them only, so
/// that variant is no part of a path: a saved model reads the same whichever type it was saved as.
#[derive(Debug, Default)]
pub(crate) struct ModulePath(Vec<String>);

const TRANSPARENT: &str = "Enum:Shipped";

impl ModulePath {
    pub fn below(prefix: &str) -> Self {
        Self(vec![prefix.to_string()])
    }

    pub fn enter(&mut self, name: &str, container: &str) {
        if container != TRANSPARENT {
            self.0.push(name.to_string());
        }
    }

    pub fn exit(&mut self, container: &str) {
        if container != TRANSPARENT {
            self.0.pop();
        }
    }

    pub fn last(&self) -> Option<&str> {
        self.0.last().map(String::as_str)
    }

    pub fn joined(&self) -> String {
        self.0.join(".")
    }
}
