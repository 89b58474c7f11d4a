//! Named operands of operations.

/// A set of operands in a fixed order: a struct with one field per operand, each of which is required,
/// optional or repeated. The implementing type, which is that struct over `()`, records which ones are
/// present.
pub(crate) trait Operands: 'static {
    /// The struct with a `T` for each operand.
    type Of<T>;

    /// The layout: which operands are present.
    fn layout<T>(operands: &Self::Of<T>) -> Self;

    /// The operands in order.
    fn list<T>(operands: Self::Of<T>) -> Vec<T>;

    /// The inverse of [`Operands::list`].
    ///
    /// # Panics
    /// If the list is too short.
    fn named<T>(&self, list: Vec<T>) -> Self::Of<T>;
}

/// A required operand.
pub(crate) type One<T> = T;
/// An optional operand.
pub(crate) type Maybe<T> = Option<T>;
/// Several operands of the same kind.
pub(crate) type Many<T> = Vec<T>;

/// Defines a struct over `T` that implements [`Operands`]; each field is `One`, `Maybe` or `Many`.
macro_rules! operands {
    ($(#[$attribute:meta])* struct $name:ident { $($field:ident: $count:ident,)* }) => {
        $(#[$attribute])*
        struct $name<T> {
            $($field: $crate::operands::$count<T>,)*
        }

        #[allow(dead_code)]
        impl<T> $name<T> {
            /// Applies `f` to each operand.
            fn map<U>(self, f: impl FnMut(T) -> U) -> $name<U> {
                use $crate::operands::Operands;
                let layout = $name::<()>::layout(&self);
                layout.named($name::<()>::list(self).into_iter().map(f).collect())
            }
        }

        impl $crate::operands::Operands for $name<()> {
            type Of<T> = $name<T>;

            fn layout<T>(operands: &$name<T>) -> Self {
                $name {
                    $($field: operands!(@layout $count operands.$field),)*
                }
            }

            #[allow(clippy::vec_init_then_push, reason = "some fields hold several operands")]
            fn list<T>(operands: $name<T>) -> Vec<T> {
                let mut list = Vec::new();
                $(operands!(@push $count list, operands.$field);)*
                list
            }

            fn named<T>(&self, list: Vec<T>) -> $name<T> {
                let mut list = list.into_iter();
                let mut next = || list.next().expect("one value per operand");
                $name {
                    $($field: operands!(@pull $count next, self.$field),)*
                }
            }
        }
    };
    (@layout One $field:expr) => { { let _ = &$field; } };
    (@layout Maybe $field:expr) => { $field.as_ref().map(|_| ()) };
    (@layout Many $field:expr) => { $field.iter().map(|_| ()).collect() };
    (@push One $list:ident, $field:expr) => { $list.push($field) };
    (@push $many:ident $list:ident, $field:expr) => { $list.extend($field) };
    (@pull One $next:ident, $field:expr) => { { let () = $field; $next() } };
    (@pull Maybe $next:ident, $field:expr) => { $field.map(|()| $next()) };
    (@pull Many $next:ident, $field:expr) => { $field.iter().map(|()| $next()).collect() };
}

#[cfg(test)]
mod tests {
    use super::*;

    operands! {
        struct Three {
            one: One,
            maybe: Maybe,
            many: Many,
        }
    }

    #[test]
    fn a_list_converts_back_to_named_operands() {
        for maybe in [None, Some('b')] {
            let three = Three { one: 'a', maybe, many: vec!['c', 'd'] };
            let layout = Three::<()>::layout(&three);
            let list = Three::<()>::list(three);
            assert_eq!(list.len(), 3 + usize::from(maybe.is_some()));
            let Three { one, maybe: found, many } = layout.named(list);
            assert_eq!((one, found, many), ('a', maybe, vec!['c', 'd']));
        }
    }
}
