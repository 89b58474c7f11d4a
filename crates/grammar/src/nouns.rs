//! Nouns, names and cities.

use super::features::GrammaticalNumber;

/// Semantic class of a noun, which determines the verbs and adjectives that it combines with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Person,
    Animal,
    Food,
    Drink,
    Text,
    Thing,
    Surface,
    Opening,
    Device,
    Vehicle,
    Place,
}

/// German grammatical gender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gender {
    Masculine,
    Feminine,
    Neuter,
}

/// A noun in both languages. Mass nouns have empty plurals.
#[derive(Debug)]
pub(super) struct Noun {
    pub(super) class: Class,
    pub(super) english: [&'static str; 2],
    pub(super) gender: Gender,
    pub(super) german: &'static str,
    pub(super) german_genitive: &'static str,
    pub(super) german_plural: &'static str,
}

impl Noun {
    /// Returns true if the noun is uncountable, so that it has neither a plural nor an indefinite article.
    pub(super) fn is_mass(&self) -> bool {
        self.german_plural.is_empty()
    }

    /// Returns true if the noun is a weak masculine, which takes the same ending everywhere except in the
    /// nominative singular: its genitive equals its plural.
    pub(super) fn is_weak(&self) -> bool {
        self.gender == Gender::Masculine && self.german_genitive == self.german_plural
    }

    /// The English form.
    pub(super) fn english(&self, number: GrammaticalNumber) -> &'static str {
        self.english[number as usize]
    }
}

/// The nouns of the given classes.
pub(super) fn nouns_of(classes: &[Class]) -> Vec<&'static Noun> {
    NOUNS.iter().filter(|noun| classes.contains(&noun.class)).collect()
}

/// Personal names; none ends in a sound that changes the genitive -s.
pub(super) const NAMES: &[&str] = &["Anna", "Maria", "Lena", "Emma", "Paul", "Peter", "Tom", "Jan"];

/// Cities: English, German.
pub(super) const CITIES: &[[&str; 2]] = &[
    ["Berlin", "Berlin"],
    ["Hamburg", "Hamburg"],
    ["Vienna", "Wien"],
    ["Munich", "München"],
    ["Cologne", "Köln"],
];

const fn noun(class: Class, english: [&'static str; 2], gender: Gender, german: [&'static str; 3]) -> Noun {
    Noun { class, english, gender, german: german[0], german_genitive: german[1], german_plural: german[2] }
}

use Class::*;
use Gender::{Feminine as F, Masculine as M, Neuter as N};

/// Columns: class; English singular, plural; gender; German nominative, genitive, plural.
#[rustfmt::skip]
static NOUNS: &[Noun] = &[
    noun(Person, ["man", "men"], M, ["Mann", "Mannes", "Männer"]),
    noun(Person, ["woman", "women"], F, ["Frau", "Frau", "Frauen"]),
    noun(Person, ["child", "children"], N, ["Kind", "Kindes", "Kinder"]),
    noun(Person, ["girl", "girls"], N, ["Mädchen", "Mädchens", "Mädchen"]),
    noun(Person, ["boy", "boys"], M, ["Junge", "Jungen", "Jungen"]),
    noun(Person, ["teacher", "teachers"], M, ["Lehrer", "Lehrers", "Lehrer"]),
    noun(Person, ["doctor", "doctors"], M, ["Arzt", "Arztes", "Ärzte"]),
    noun(Person, ["student", "students"], M, ["Student", "Studenten", "Studenten"]),
    noun(Person, ["neighbour", "neighbours"], M, ["Nachbar", "Nachbarn", "Nachbarn"]),
    noun(Person, ["brother", "brothers"], M, ["Bruder", "Bruders", "Brüder"]),
    noun(Person, ["sister", "sisters"], F, ["Schwester", "Schwester", "Schwestern"]),
    noun(Person, ["daughter", "daughters"], F, ["Tochter", "Tochter", "Töchter"]),
    noun(Person, ["aunt", "aunts"], F, ["Tante", "Tante", "Tanten"]),
    noun(Animal, ["dog", "dogs"], M, ["Hund", "Hundes", "Hunde"]),
    noun(Animal, ["cat", "cats"], F, ["Katze", "Katze", "Katzen"]),
    noun(Animal, ["horse", "horses"], N, ["Pferd", "Pferdes", "Pferde"]),
    noun(Animal, ["bird", "birds"], M, ["Vogel", "Vogels", "Vögel"]),
    noun(Animal, ["cow", "cows"], F, ["Kuh", "Kuh", "Kühe"]),
    noun(Food, ["apple", "apples"], M, ["Apfel", "Apfels", "Äpfel"]),
    noun(Food, ["pear", "pears"], F, ["Birne", "Birne", "Birnen"]),
    noun(Food, ["egg", "eggs"], N, ["Ei", "Eis", "Eier"]),
    noun(Food, ["bread", ""], N, ["Brot", "Brotes", ""]),
    noun(Food, ["cheese", ""], M, ["Käse", "Käses", ""]),
    noun(Drink, ["water", ""], N, ["Wasser", "Wassers", ""]),
    noun(Drink, ["milk", ""], F, ["Milch", "Milch", ""]),
    noun(Drink, ["tea", ""], M, ["Tee", "Tees", ""]),
    noun(Text, ["book", "books"], N, ["Buch", "Buches", "Bücher"]),
    noun(Text, ["letter", "letters"], M, ["Brief", "Briefes", "Briefe"]),
    noun(Text, ["newspaper", "newspapers"], F, ["Zeitung", "Zeitung", "Zeitungen"]),
    noun(Thing, ["picture", "pictures"], N, ["Bild", "Bildes", "Bilder"]),
    noun(Thing, ["key", "keys"], M, ["Schlüssel", "Schlüssels", "Schlüssel"]),
    noun(Thing, ["flower", "flowers"], F, ["Blume", "Blume", "Blumen"]),
    noun(Thing, ["hat", "hats"], M, ["Hut", "Hutes", "Hüte"]),
    noun(Thing, ["glass", "glasses"], N, ["Glas", "Glases", "Gläser"]),
    noun(Surface, ["table", "tables"], M, ["Tisch", "Tisches", "Tische"]),
    noun(Surface, ["chair", "chairs"], M, ["Stuhl", "Stuhls", "Stühle"]),
    noun(Surface, ["bed", "beds"], N, ["Bett", "Bettes", "Betten"]),
    noun(Surface, ["bench", "benches"], F, ["Bank", "Bank", "Bänke"]),
    noun(Opening, ["door", "doors"], F, ["Tür", "Tür", "Türen"]),
    noun(Opening, ["window", "windows"], N, ["Fenster", "Fensters", "Fenster"]),
    noun(Device, ["lamp", "lamps"], F, ["Lampe", "Lampe", "Lampen"]),
    noun(Device, ["computer", "computers"], M, ["Computer", "Computers", "Computer"]),
    noun(Device, ["radio", "radios"], N, ["Radio", "Radios", "Radios"]),
    noun(Vehicle, ["car", "cars"], N, ["Auto", "Autos", "Autos"]),
    noun(Vehicle, ["bus", "buses"], M, ["Bus", "Busses", "Busse"]),
    noun(Place, ["house", "houses"], N, ["Haus", "Hauses", "Häuser"]),
    noun(Place, ["garden", "gardens"], M, ["Garten", "Gartens", "Gärten"]),
    noun(Place, ["school", "schools"], F, ["Schule", "Schule", "Schulen"]),
    noun(Place, ["city", "cities"], F, ["Stadt", "Stadt", "Städte"]),
    noun(Place, ["church", "churches"], F, ["Kirche", "Kirche", "Kirchen"]),
    noun(Place, ["forest", "forests"], M, ["Wald", "Waldes", "Wälder"]),
    noun(Place, ["village", "villages"], N, ["Dorf", "Dorfes", "Dörfer"]),
    noun(Place, ["hospital", "hospitals"], N, ["Krankenhaus", "Krankenhauses", "Krankenhäuser"]),
];
