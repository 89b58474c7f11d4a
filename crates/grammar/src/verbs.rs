//! Verbs and their argument frames.

use super::features::{Modal, Tense};
use super::nouns::Class::{self, *};

/// The arguments of a verb besides its subject.
#[derive(Debug)]
pub(super) enum VerbFrame {
    /// None: "sleep".
    Plain,
    /// An accusative object.
    Accusative(&'static [Class]),
    /// A dative object.
    Dative(&'static [Class]),
    /// "for …" in English, "auf" with the accusative in German.
    WaitFor(&'static [Class]),
    /// A person in the dative and a thing in the accusative.
    Giving(&'static [Class]),
    /// A direction: into, to or through a place.
    Motion,
    /// A city as the destination.
    Travel,
    /// A location: a place or a piece of furniture.
    Location(&'static [Class]),
    /// A thing, and the piece of furniture onto which it is put.
    Placing,
    /// An adjective.
    Copula,
    /// A clause with "that".
    That,
    /// A clause with "whether".
    Whether,
}

impl VerbFrame {
    /// Classes that a direct object may have.
    pub(super) fn object_classes(&self) -> Option<&'static [Class]> {
        match self {
            VerbFrame::Accusative(classes) | VerbFrame::Dative(classes) => Some(classes),
            _ => None,
        }
    }
}

/// The particle of an English verb.
#[derive(Clone, Copy, Debug)]
pub(super) enum Particle {
    /// "sleep".
    None,
    /// "turn on the lamp", but "pick him up".
    Movable(&'static str),
    /// "look for him".
    Fixed(&'static str),
}

/// The auxiliary of the German perfect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Auxiliary {
    Haben,
    Sein,
}

/// English forms.
#[derive(Debug)]
pub(super) struct EnglishVerb {
    pub(super) base: &'static str,
    pub(super) third: &'static str,
    pub(super) past: &'static str,
    pub(super) participle: &'static str,
    pub(super) particle: Particle,
}

/// German forms; all except the infinitive and the participle are given without the separable prefix.
#[derive(Debug)]
pub(super) struct GermanVerb {
    pub(super) prefix: &'static str,
    pub(super) infinitive: &'static str,
    pub(super) singular: [&'static str; 3],
    pub(super) plural: &'static str,
    pub(super) past: &'static str,
    pub(super) participle: &'static str,
    pub(super) auxiliary: Auxiliary,
}

/// A verb in both languages.
#[derive(Debug)]
pub(super) struct Verb {
    pub(super) frame: VerbFrame,
    pub(super) subjects: &'static [Class],
    pub(super) english: EnglishVerb,
    pub(super) german: GermanVerb,
}

impl Verb {
    /// Returns true if the verb may be used in this tense, so that the English is unambiguous ("read" is
    /// present or past) and natural.
    pub(super) fn allows(&self, tense: Tense, modal: Option<Modal>) -> bool {
        if matches!(self.frame, VerbFrame::Copula) {
            return tense != Tense::Perfect && matches!(modal, None | Some(Modal::Will));
        }
        tense != Tense::Past || modal.is_some() || self.english.base != self.english.past
    }
}

/// "be".
pub(super) static BE: Verb = Verb {
    frame: VerbFrame::Copula,
    subjects: &[Person, Animal, Text, Thing, Vehicle, Place],
    english: EnglishVerb {
        base: "be",
        third: "is",
        past: "was",
        participle: "been",
        particle: Particle::None,
    },
    german: SEIN,
};

/// "sein", as a copula and as an auxiliary.
pub(super) const SEIN: GermanVerb = GermanVerb {
    prefix: "",
    infinitive: "sein",
    singular: ["bin", "bist", "ist"],
    plural: "sind",
    past: "war",
    participle: "gewesen",
    auxiliary: Auxiliary::Sein,
};

/// "haben", as a verb and as an auxiliary.
pub(super) const HABEN: GermanVerb =
    german("", "haben", ["habe", "hast", "hat"], ["hatte", "gehabt"], Auxiliary::Haben);

const fn german(
    prefix: &'static str,
    infinitive: &'static str,
    singular: [&'static str; 3],
    [past, participle]: [&'static str; 2],
    auxiliary: Auxiliary,
) -> GermanVerb {
    GermanVerb { prefix, infinitive, singular, plural: infinitive, past, participle, auxiliary }
}

const fn english([base, third, past, participle]: [&'static str; 4], particle: Particle) -> EnglishVerb {
    EnglishVerb { base, third, past, participle, particle }
}

const fn verb(
    frame: VerbFrame,
    subjects: &'static [Class],
    english: EnglishVerb,
    german: GermanVerb,
) -> Verb {
    Verb { frame, subjects, english, german }
}

const PEOPLE: &[Class] = &[Person];
const CREATURES: &[Class] = &[Person, Animal];
const VISIBLE: &[Class] = &[Person, Animal, Thing, Text, Surface, Vehicle, Place];
const GOODS: &[Class] = &[Animal, Food, Text, Thing, Surface, Device, Vehicle];
const GIFTS: &[Class] = &[Food, Drink, Text, Thing];

use Auxiliary::{Haben as H, Sein as S};
use Particle::{Fixed, Movable, None as No};
use VerbFrame::*;

/// Verbs without clausal arguments.
#[rustfmt::skip]
pub(super) static VERBS: &[Verb] = &[
    verb(Plain, CREATURES, english(["sleep", "sleeps", "slept", "slept"], No), german("", "schlafen", ["schlafe", "schläfst", "schläft"], ["schlief", "geschlafen"], H)),
    verb(Plain, PEOPLE, english(["work", "works", "worked", "worked"], No), german("", "arbeiten", ["arbeite", "arbeitest", "arbeitet"], ["arbeitete", "gearbeitet"], H)),
    verb(Plain, PEOPLE, english(["sing", "sings", "sang", "sung"], No), german("", "singen", ["singe", "singst", "singt"], ["sang", "gesungen"], H)),
    verb(Plain, PEOPLE, english(["dance", "dances", "danced", "danced"], No), german("", "tanzen", ["tanze", "tanzt", "tanzt"], ["tanzte", "getanzt"], H)),
    verb(Plain, CREATURES, english(["play", "plays", "played", "played"], No), german("", "spielen", ["spiele", "spielst", "spielt"], ["spielte", "gespielt"], H)),
    verb(Plain, CREATURES, english(["swim", "swims", "swam", "swum"], No), german("", "schwimmen", ["schwimme", "schwimmst", "schwimmt"], ["schwamm", "geschwommen"], S)),
    verb(Plain, PEOPLE, english(["arrive", "arrives", "arrived", "arrived"], No), german("an", "kommen", ["komme", "kommst", "kommt"], ["kam", "angekommen"], S)),
    verb(Plain, CREATURES, english(["get", "gets", "got", "got"], Fixed("up")), german("auf", "stehen", ["stehe", "stehst", "steht"], ["stand", "aufgestanden"], S)),
    verb(Accusative(VISIBLE), CREATURES, english(["see", "sees", "saw", "seen"], No), german("", "sehen", ["sehe", "siehst", "sieht"], ["sah", "gesehen"], H)),
    verb(Accusative(VISIBLE), CREATURES, english(["find", "finds", "found", "found"], No), german("", "finden", ["finde", "findest", "findet"], ["fand", "gefunden"], H)),
    verb(Accusative(&[Person, Animal, Text, Thing, Vehicle]), CREATURES, english(["look", "looks", "looked", "looked"], Fixed("for")), german("", "suchen", ["suche", "suchst", "sucht"], ["suchte", "gesucht"], H)),
    verb(Accusative(GOODS), PEOPLE, english(["buy", "buys", "bought", "bought"], No), german("", "kaufen", ["kaufe", "kaufst", "kauft"], ["kaufte", "gekauft"], H)),
    verb(Accusative(GOODS), PEOPLE, english(["sell", "sells", "sold", "sold"], No), german("", "verkaufen", ["verkaufe", "verkaufst", "verkauft"], ["verkaufte", "verkauft"], H)),
    verb(Accusative(GOODS), PEOPLE, english(["have", "has", "had", "had"], No), HABEN),
    verb(Accusative(&[Person, Food, Drink, Text, Thing]), PEOPLE, english(["need", "needs", "needed", "needed"], No), german("", "brauchen", ["brauche", "brauchst", "braucht"], ["brauchte", "gebraucht"], H)),
    verb(Accusative(&[Person, Animal, Place]), PEOPLE, english(["love", "loves", "loved", "loved"], No), german("", "lieben", ["liebe", "liebst", "liebt"], ["liebte", "geliebt"], H)),
    verb(Accusative(&[Person, Place]), PEOPLE, english(["visit", "visits", "visited", "visited"], No), german("", "besuchen", ["besuche", "besuchst", "besucht"], ["besuchte", "besucht"], H)),
    verb(Accusative(&[Food]), CREATURES, english(["eat", "eats", "ate", "eaten"], No), german("", "essen", ["esse", "isst", "isst"], ["aß", "gegessen"], H)),
    verb(Accusative(&[Drink]), CREATURES, english(["drink", "drinks", "drank", "drunk"], No), german("", "trinken", ["trinke", "trinkst", "trinkt"], ["trank", "getrunken"], H)),
    verb(Accusative(&[Text]), PEOPLE, english(["read", "reads", "read", "read"], No), german("", "lesen", ["lese", "liest", "liest"], ["las", "gelesen"], H)),
    verb(Accusative(&[Text]), PEOPLE, english(["write", "writes", "wrote", "written"], No), german("", "schreiben", ["schreibe", "schreibst", "schreibt"], ["schrieb", "geschrieben"], H)),
    verb(Accusative(&[Device, Vehicle, Opening, Surface]), PEOPLE, english(["repair", "repairs", "repaired", "repaired"], No), german("", "reparieren", ["repariere", "reparierst", "repariert"], ["reparierte", "repariert"], H)),
    verb(Accusative(&[Opening]), PEOPLE, english(["open", "opens", "opened", "opened"], No), german("auf", "machen", ["mache", "machst", "macht"], ["machte", "aufgemacht"], H)),
    verb(Accusative(&[Opening]), PEOPLE, english(["close", "closes", "closed", "closed"], No), german("zu", "machen", ["mache", "machst", "macht"], ["machte", "zugemacht"], H)),
    verb(Accusative(&[Device]), PEOPLE, english(["turn", "turns", "turned", "turned"], Movable("on")), german("ein", "schalten", ["schalte", "schaltest", "schaltet"], ["schaltete", "eingeschaltet"], H)),
    verb(Accusative(&[Device]), PEOPLE, english(["turn", "turns", "turned", "turned"], Movable("off")), german("aus", "schalten", ["schalte", "schaltest", "schaltet"], ["schaltete", "ausgeschaltet"], H)),
    verb(Accusative(PEOPLE), PEOPLE, english(["invite", "invites", "invited", "invited"], No), german("ein", "laden", ["lade", "lädst", "lädt"], ["lud", "eingeladen"], H)),
    verb(Accusative(PEOPLE), PEOPLE, english(["call", "calls", "called", "called"], No), german("an", "rufen", ["rufe", "rufst", "ruft"], ["rief", "angerufen"], H)),
    verb(Accusative(PEOPLE), PEOPLE, english(["pick", "picks", "picked", "picked"], Movable("up")), german("ab", "holen", ["hole", "holst", "holt"], ["holte", "abgeholt"], H)),
    verb(Dative(PEOPLE), PEOPLE, english(["help", "helps", "helped", "helped"], No), german("", "helfen", ["helfe", "hilfst", "hilft"], ["half", "geholfen"], H)),
    verb(Dative(PEOPLE), PEOPLE, english(["thank", "thanks", "thanked", "thanked"], No), german("", "danken", ["danke", "dankst", "dankt"], ["dankte", "gedankt"], H)),
    verb(Dative(CREATURES), CREATURES, english(["follow", "follows", "followed", "followed"], No), german("", "folgen", ["folge", "folgst", "folgt"], ["folgte", "gefolgt"], S)),
    verb(Dative(PEOPLE), PEOPLE, english(["listen", "listens", "listened", "listened"], Fixed("to")), german("zu", "hören", ["höre", "hörst", "hört"], ["hörte", "zugehört"], H)),
    verb(WaitFor(&[Person, Vehicle, Animal]), CREATURES, english(["wait", "waits", "waited", "waited"], No), german("", "warten", ["warte", "wartest", "wartet"], ["wartete", "gewartet"], H)),
    verb(Giving(GIFTS), PEOPLE, english(["give", "gives", "gave", "given"], No), german("", "geben", ["gebe", "gibst", "gibt"], ["gab", "gegeben"], H)),
    verb(Giving(GIFTS), PEOPLE, english(["bring", "brings", "brought", "brought"], No), german("", "bringen", ["bringe", "bringst", "bringt"], ["brachte", "gebracht"], H)),
    verb(Giving(&[Text, Thing, Animal, Place]), PEOPLE, english(["show", "shows", "showed", "shown"], No), german("", "zeigen", ["zeige", "zeigst", "zeigt"], ["zeigte", "gezeigt"], H)),
    verb(Giving(&[Text, Thing]), PEOPLE, english(["send", "sends", "sent", "sent"], No), german("", "schicken", ["schicke", "schickst", "schickt"], ["schickte", "geschickt"], H)),
    verb(Motion, CREATURES, english(["go", "goes", "went", "gone"], No), german("", "gehen", ["gehe", "gehst", "geht"], ["ging", "gegangen"], S)),
    verb(Motion, CREATURES, english(["run", "runs", "ran", "run"], No), german("", "laufen", ["laufe", "läufst", "läuft"], ["lief", "gelaufen"], S)),
    verb(Travel, PEOPLE, english(["travel", "travels", "travelled", "travelled"], No), german("", "reisen", ["reise", "reist", "reist"], ["reiste", "gereist"], S)),
    verb(Location(&[Place]), PEOPLE, english(["live", "lives", "lived", "lived"], No), german("", "wohnen", ["wohne", "wohnst", "wohnt"], ["wohnte", "gewohnt"], H)),
    verb(Location(&[Place, Surface]), CREATURES, english(["sit", "sits", "sat", "sat"], No), german("", "sitzen", ["sitze", "sitzt", "sitzt"], ["saß", "gesessen"], H)),
    verb(Location(&[Place, Surface]), CREATURES, english(["stand", "stands", "stood", "stood"], No), german("", "stehen", ["stehe", "stehst", "steht"], ["stand", "gestanden"], H)),
    verb(Location(&[Place]), CREATURES, english(["stay", "stays", "stayed", "stayed"], No), german("", "bleiben", ["bleibe", "bleibst", "bleibt"], ["blieb", "geblieben"], S)),
    verb(Placing, PEOPLE, english(["lay", "lays", "laid", "laid"], No), german("", "legen", ["lege", "legst", "legt"], ["legte", "gelegt"], H)),
];

/// Verbs with a clausal argument.
#[rustfmt::skip]
pub(super) static CLAUSE_VERBS: &[Verb] = &[
    verb(That, PEOPLE, english(["know", "knows", "knew", "known"], No), german("", "wissen", ["weiß", "weißt", "weiß"], ["wusste", "gewusst"], H)),
    verb(That, PEOPLE, english(["think", "thinks", "thought", "thought"], No), german("", "glauben", ["glaube", "glaubst", "glaubt"], ["glaubte", "geglaubt"], H)),
    verb(That, PEOPLE, english(["say", "says", "said", "said"], No), german("", "sagen", ["sage", "sagst", "sagt"], ["sagte", "gesagt"], H)),
    verb(That, PEOPLE, english(["hope", "hopes", "hoped", "hoped"], No), german("", "hoffen", ["hoffe", "hoffst", "hofft"], ["hoffte", "gehofft"], H)),
    verb(Whether, PEOPLE, english(["ask", "asks", "asked", "asked"], No), german("", "fragen", ["frage", "fragst", "fragt"], ["fragte", "gefragt"], H)),
];
