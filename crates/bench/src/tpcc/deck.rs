//! The mix: cards dealt from a shuffled deck, so that the shares hold in any stretch of transactions, and not in the long run only.

use fastrand::Rng;

use super::kind::Kind;

/// A terminal's deck of 23 cards.
#[derive(Debug, Default)]
pub(super) struct Deck {
    left: Vec<Kind>,
}

impl Deck {
    /// The next card. A deck that is used up is shuffled anew.
    pub(super) fn deal(&mut self, rng: &mut Rng) -> Kind {
        if let Some(card) = self.left.pop() {
            return card;
        }
        self.left = Kind::ALL.into_iter().flat_map(|kind| std::iter::repeat_n(kind, kind.cards())).collect();
        rng.shuffle(&mut self.left);
        self.left.pop().unwrap_or(Kind::NewOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_deck_has_its_cards() {
        let (mut deck, mut rng) = (Deck::default(), Rng::with_seed(1));
        let decks: Vec<Vec<Kind>> = (0..3).map(|_| (0..23).map(|_| deck.deal(&mut rng)).collect()).collect();
        for cards in &decks {
            let counts = Kind::ALL.map(|kind| cards.iter().filter(|card| **card == kind).count());
            assert_eq!(counts, [10, 10, 1, 1, 1]);
        }
        assert!(decks[0] != decks[1] && decks[1] != decks[2]);
    }
}
