//! What is planned is read back from the files to the same bonds, whichever tool they are for.

use std::collections::BTreeMap;

use clap::ValueEnum as _;
use proptest::collection::btree_set;
use proptest::prelude::*;

use super::*;
use crate::bonding_config::Configuration;
use crate::bonding_config::ifcfg::is_copy;

/// Names that are hard on the files' formats among them.
fn names() -> impl Strategy<Value = Vec<String>> {
    let odd = prop::sample::select(vec![
        "on", "null", "1e3", "0x1f", "eth0.100", "y", "a-b_c", "no", "true", "e.-",
    ]);
    let name = prop_oneof![4 => "[a-z][a-z0-9._-]{0,14}", 1 => odd.prop_map(str::to_owned)];
    let is_free = |name: &String| {
        !matches!(name.as_str(), "all" | "default" | "lo") && !name.starts_with("bond") && !is_copy(name)
    };
    btree_set(name.prop_filter("reserved", is_free), 1..9)
        .prop_map(|names| names.into_iter().collect::<Vec<_>>())
        .prop_shuffle()
}

/// Some of the names for each bond, and a mode.
fn bonds() -> impl Strategy<Value = Vec<String>> {
    (names(), prop::collection::vec((0..Mode::ALL.len(), 1_usize..4), 1..4)).prop_map(|(names, shapes)| {
        let mut names = names.into_iter();
        let texts = shapes.into_iter().filter_map(|(mode, count)| {
            let slaves: Vec<_> = names.by_ref().take(count).collect();
            (!slaves.is_empty()).then(|| format!("{}:{mode}", slaves.join(",")))
        });
        texts.collect()
    })
}

fn read_back(files: &[PlannedFile]) -> Configuration {
    let dir = tempfile::tempdir().unwrap();
    write(files, dir.path()).unwrap();
    Configuration::of(&Evidence::of(Some(dir.path()), Err("none".into()), None, String::new()).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_planned_is_read_back(texts in bonds(), mtu in prop::option::of(68_u32..=65_535), is_static: bool) {
        for tool in NetworkTool::value_variants() {
            let address = if is_static { vec!["bond0=192.0.2.1/24".into(), "bond0=2001:db8::1/64".into()] } else { vec![] };
            let gateway = if is_static { vec!["bond0=192.0.2.254".into()] } else { vec![] };
            let args = PlanArgs { bonds: texts.clone(), tool: *tool, address, gateway, mtu, dir: None, root: None };
            let bonds = spec::bonds(&args).unwrap();
            let found = read_back(&files(*tool, &bonds));
            prop_assert_eq!(&found.unseen, &Vec::<String>::new());
            prop_assert_eq!(found.tools.iter().collect::<Vec<_>>(), vec![tool]);
            prop_assert_eq!(found.bonds.len(), bonds.len());
            for bond in &bonds {
                let wanted = found.of_bond(&bond.name).next().unwrap();
                let options: BTreeMap<_, _> =
                    options::of(bond).into_iter().map(|choice| (choice.option.to_owned(), choice.value)).collect();
                prop_assert_eq!(&wanted.options, &options);
                let sorted = |slaves: &[String]| slaves.iter().cloned().collect::<std::collections::BTreeSet<_>>();
                prop_assert_eq!(sorted(&wanted.slaves), sorted(&bond.slaves));
                prop_assert_eq!((wanted.tool, wanted.is_automatic), (Some(*tool), true));
            }
        }
    }
}
