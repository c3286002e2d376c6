//! Closed, named, serialisable choices: one line an entry.
//!
//! [`registry!`](crate::registry!) turns a list of `"name" => Variant(Type)` lines into a tagged
//! enum that dereferences to a trait object, parses from its name and can list itself. Help
//! texts, error messages and contract tests walk the list, so a new entry is shown and tested
//! the moment its line is there.

/// Declares a registry; see the [module](mod@crate::registry) documentation.
#[macro_export]
macro_rules! registry {
    (
        $(#[$meta:meta])*
        pub enum $name:ident as $kind:literal: $trait:path {
            $( $id:literal => $variant:ident($ty:ty) ),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(tag = "name")]
        pub enum $name {
            $(
                #[allow(missing_docs)]
                #[serde(rename = $id)]
                $variant($ty),
            )+
        }

        impl $name {
            /// Every entry with its default options, in the order of the registry.
            pub fn all() -> Vec<Self> {
                vec![$( Self::$variant(<$ty>::default()) ),+]
            }

            /// The name it is configured and listed by.
            pub fn name(&self) -> &'static str {
                match self { $( Self::$variant(_) => $id ),+ }
            }
        }

        $(
            impl From<$ty> for $name {
                fn from(entry: $ty) -> Self {
                    Self::$variant(entry)
                }
            }
        )+

        impl std::ops::Deref for $name {
            type Target = dyn $trait;

            fn deref(&self) -> &Self::Target {
                match self { $( Self::$variant(entry) => entry ),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Error;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                let all = Self::all();
                match all.iter().find(|entry| entry.name() == name) {
                    Some(entry) => Ok(entry.clone()),
                    None => Err($crate::Error::Unknown {
                        kind: $kind,
                        name: name.to_string(),
                        known: all.iter().map(Self::name).collect::<Vec<_>>().join(", "),
                    }),
                }
            }
        }
    };
}
