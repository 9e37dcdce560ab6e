//! How a bond uses its interfaces.

/// A mode of the kernel's bonding driver; Documentation/networking/bonding.rst on `mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Packets go out on one interface after the other.
    BalanceRr,
    /// One interface works, the others wait.
    ActiveBackup,
    /// A hash of each packet's addresses chooses the interface.
    BalanceXor,
    /// All packets go out on all interfaces.
    Broadcast,
    /// The switch is asked by LACP which interfaces belong together; a hash chooses among those.
    Lacp,
    /// Packets go out by the load of the interfaces, and come in on one.
    BalanceTlb,
    /// Both ways are balanced, by answers to ARP.
    BalanceAlb,
}

impl Mode {
    /// All, each at the place of its number.
    pub const ALL: [Self; 7] = [
        Self::BalanceRr,
        Self::ActiveBackup,
        Self::BalanceXor,
        Self::Broadcast,
        Self::Lacp,
        Self::BalanceTlb,
        Self::BalanceAlb,
    ];

    /// By its name or its number, as the driver's option takes it.
    pub fn parse(text: &str) -> Option<Self> {
        let number = text.parse::<usize>().ok().and_then(|number| Self::ALL.get(number).copied());
        number.or_else(|| Self::ALL.into_iter().find(|mode| mode.name() == text))
    }

    /// By the words of /proc/net/bonding, such as `IEEE 802.3ad Dynamic link aggregation`.
    pub(crate) fn of_proc(text: &str) -> Option<Self> {
        let begins = |mode: &Self| text.starts_with(mode.words());
        Self::ALL.into_iter().find(begins)
    }

    /// Its number.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// Its name as an option.
    pub fn name(self) -> &'static str {
        match self {
            Self::BalanceRr => "balance-rr",
            Self::ActiveBackup => "active-backup",
            Self::BalanceXor => "balance-xor",
            Self::Broadcast => "broadcast",
            Self::Lacp => "802.3ad",
            Self::BalanceTlb => "balance-tlb",
            Self::BalanceAlb => "balance-alb",
        }
    }

    /// `bond_mode_name` of the driver.
    fn words(self) -> &'static str {
        match self {
            Self::BalanceRr => "load balancing (round-robin)",
            Self::ActiveBackup => "fault-tolerance (active-backup)",
            Self::BalanceXor => "load balancing (xor)",
            Self::Broadcast => "fault-tolerance (broadcast)",
            Self::Lacp => "IEEE 802.3ad Dynamic link aggregation",
            Self::BalanceTlb => "transmit load balancing",
            Self::BalanceAlb => "adaptive load balancing",
        }
    }

    /// Whether a hash chooses the interface that a packet leaves on.
    pub fn hashes(self) -> bool {
        matches!(self, Self::Lacp | Self::BalanceXor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_numbers_and_words() {
        for (number, mode) in Mode::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(mode.number()), number);
            assert_eq!(Mode::parse(mode.name()), Some(mode));
            assert_eq!(Mode::parse(&number.to_string()), Some(mode));
        }
        assert_eq!((Mode::parse("7"), Mode::parse("lacp")), (None, None));
        assert_eq!(
            Mode::of_proc("fault-tolerance (active-backup) (fail_over_mac active)"),
            Some(Mode::ActiveBackup)
        );
    }
}
