//! A dump as the target takes it: its scripts rewritten, its manifest with other expressions and fewer objects.

use drover_format::Refusal;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use drover_db::options::ConnectOptions;
use drover_db::session::Use;
use drover_db::{Connection, Server, Vendor, quote};
use drover_store::Store;

use super::finding::{self, Finding};
use super::rows::{self, Current};
use super::syntax::Syntax;
use super::target::{Target, implies_timestamps, no_history, takes_history};
use super::{Ignored, Notes, Rewrite, Why, settings, table, tidb};
use crate::ddl::CreateTable;
use crate::session;
use crate::{Error, Result};
use drover_format::manifest::{Column, Manifest, Object, Schema, Script, Table};
use drover_format::row_file::RowReader;
use drover_format::script;

/// Rewrites a dump for a target of another vendor or version.
pub(crate) struct Translator {
    store: Store,
    old: Server,
    new: Server,
    target: Target,
    /// The kind, name and schema of the object that each script makes.
    objects: BTreeMap<String, Origin>,
    state: Mutex<State>,
}

#[derive(Debug, Clone)]
struct Origin {
    schema: String,
    label: String,
    is_table: bool,
}

#[derive(Debug, Default)]
struct State {
    /// What each script was rewritten to.
    scripts: BTreeMap<String, Vec<Vec<u8>>>,
    rewrites: BTreeSet<Rewrite>,
    refused: BTreeSet<Refusal>,
    /// Names of constraints by schema.
    checks: BTreeMap<String, BTreeSet<String>>,
    /// The rows to take from tables with history, by script.
    current: BTreeMap<String, Current>,
    /// What a trial found, in its order.
    findings: Vec<Finding>,
}

impl Translator {
    /// The translator that is needed; none if the target is what the dump comes from.
    pub(crate) fn new(
        connection: &mut Connection,
        store: &Store,
        manifest: &Manifest,
        server: &Server,
    ) -> Result<Option<Self>> {
        let loses_history = has_history(manifest) && !takes_history(connection)?;
        let is_same = grammar(server) == grammar(&manifest.server);
        let implies = is_same && implies_timestamps(connection)? && has_bare_timestamps(store, manifest)?;
        if is_same && !loses_history && !implies {
            return Ok(None);
        }
        Self::always(connection, store, manifest, server).map(Some)
    }

    /// One for any target: it also notes what the target refuses.
    pub(crate) fn always(
        connection: &mut Connection,
        store: &Store,
        manifest: &Manifest,
        server: &Server,
    ) -> Result<Self> {
        let target = Target::ask(connection, server)?;
        Ok(Self {
            store: store.clone(),
            old: manifest.server.clone(),
            new: server.clone(),
            target,
            objects: origins(manifest),
            state: Mutex::default(),
        })
    }

    /// The same for a connection that only reads.
    pub(crate) fn for_reading(
        options: &ConnectOptions,
        store: &Store,
        manifest: &Manifest,
        server: &Server,
    ) -> Result<Option<Self>> {
        let mut connection = session::open(options, Use::Restore)?;
        Self::new(&mut connection, store, manifest, server)
    }

    /// Whether the target is of another vendor or version.
    pub(crate) fn is_other(&self) -> bool {
        grammar(&self.old) != grammar(&self.new)
    }

    /// Whether a TIMESTAMP that has no default is given one.
    pub(crate) fn implies_timestamps(&self) -> bool {
        self.target.implies_timestamps
    }

    /// Whether it goes from another server into TiDB.
    pub(crate) fn is_for_tidb(&self) -> bool {
        self.new.is_tidb() && !self.old.is_tidb()
    }

    /// Whether the target is of another vendor, as TiDB is one here.
    pub(crate) fn crosses(&self) -> bool {
        self.old.vendor != self.new.vendor || self.old.is_tidb() != self.new.is_tidb()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the dumped server takes for a character set that is named alone, and the target with a generated column that it takes no
    /// collation with.
    pub(crate) fn default_collation(&self, set: &str, is_generated: bool) -> Option<String> {
        match is_generated && !self.target.reads(Syntax::GeneratedCollation) {
            true => self.target.set_default(set),
            false => super::defaults::of_server(&self.old, set),
        }
    }

    /// The statements of a script as the target takes them.
    pub(crate) fn script(&self, file: &str, statements: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let mut state = self.state();
        if let Some(known) = state.scripts.get(file) {
            return known.clone();
        }
        let Some(origin) = self.objects.get(file) else { return statements };
        let mut notes = Notes::new(&origin.label);
        let dialect = script::dialect(&statements);
        let servers = (&self.old, &self.new);
        let checks = state.checks.entry(origin.schema.clone()).or_default();
        let from_tidb = self.old.is_tidb() && !self.new.is_tidb();
        let rewrite = |statement: &Vec<u8>| match origin.is_table && statement.starts_with(b"CREATE TABLE ") {
            _ if from_tidb && origin.label.starts_with("schema ") => {
                let statement = tidb::schema(statement, &mut notes);
                settings::rewrite(&statement, dialect, servers, &self.target, &mut notes)
            }
            true => table::rewrite(statement, &self.old, &self.target, checks, &mut notes),
            // The settings of a table's script are drover's own, and restoring uses its session's.
            false if origin.is_table => statement.clone(),
            false => settings::rewrite(statement, dialect, servers, &self.target, &mut notes),
        };
        let is_for_tidb = |kind: &str| self.is_for_tidb() && origin.label.starts_with(kind);
        let mut rewritten: Vec<_> = match is_for_tidb("sequence ") {
            true => tidb::sequence(&statements),
            false => statements.iter().map(rewrite).collect(),
        };
        if is_for_tidb("view ") {
            rewritten.iter_mut().for_each(|statement| tidb::without_check_option(statement, &mut notes));
        }
        state.rewrites.extend(notes.rewrites);
        state.scripts.insert(file.to_owned(), rewritten.clone());
        rewritten
    }

    /// Leaves the items at these places out of a table: the target does not take them, for these reasons.
    pub(crate) fn leave_out(&self, file: &str, items: &[(usize, String)]) {
        let mut state = self.state();
        let Some(origin) = self.objects.get(file) else { return };
        let mut notes = Notes::new(&origin.label);
        let mut findings = Vec::new();
        if let Some(create) = state.scripts.get_mut(file).and_then(|statements| statements.last_mut()) {
            for (place, reason) in items {
                let item = table::item(create, *place);
                findings.push(Finding::left_out(file, item.as_bytes(), reason));
                notes.add(&item, "", Why::lost(reason));
            }
            let places: Vec<_> = items.iter().map(|(place, _)| *place).collect();
            *create = table::without(create, &places);
        }
        state.rewrites.extend(notes.rewrites);
        state.findings.extend(findings);
    }

    /// Notes what the target takes of a table and does not keep as it is.
    pub(crate) fn note_ignored(&self, file: &str, ignored: &[Ignored]) {
        let Some(origin) = self.objects.get(file) else { return };
        let mut notes = Notes::new(&origin.label);
        let mut state = self.state();
        let is_known = |asked: &str| {
            let asked = super::one_line(asked);
            state.rewrites.iter().any(|one| one.object == origin.label && one.from == asked && one.loses)
        };
        for Ignored { asked, kept, reason, loses } in ignored.iter().filter(|one| !is_known(&one.asked)) {
            notes.add(asked, kept, Why { reason: reason.clone(), loses: *loses });
        }
        state.rewrites.extend(notes.rewrites);
        state.findings.extend(ignored.iter().map(|one| Finding::ignored(file, one)));
    }

    /// The place and the text of a table's item by its digest, as far as the table still has it. The table's script was read.
    fn item(&self, file: &str, item: &str) -> Option<(usize, String)> {
        let state = self.state();
        let create = state.scripts.get(file).and_then(|statements| statements.last());
        let items = create.and_then(|create| CreateTable::parse(create)).map(|parts| parts.items);
        let texts = items.unwrap_or_default();
        let mut texts = texts.iter().map(|text| String::from_utf8_lossy(text).into_owned()).enumerate();
        texts.find(|(_, text)| finding::digest(text.as_bytes()) == item)
    }

    /// What trials found until now.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        self.state().findings.clone()
    }

    /// Leaves out what an earlier trial found that tables cannot have, and gives what it refused: the script of each object, its label, and the
    /// server's words. The scripts were read.
    pub(crate) fn recall(&self, findings: &[Finding]) -> Vec<(String, String, String)> {
        let mut refused = Vec::new();
        for finding in findings {
            match finding {
                Finding::Refused { file, reason } => {
                    let label = self.objects.get(file).map(|origin| &origin.label);
                    let is_known = |label: &&String| self.refused().iter().any(|one| one.object == **label);
                    let new = label.filter(|label| !is_known(label));
                    refused.extend(new.map(|label| (file.clone(), label.clone(), reason.clone())));
                }
                Finding::LeftOut { file, item, reason } => {
                    let item = self.item(file, item);
                    item.into_iter().for_each(|(place, _)| self.leave_out(file, &[(place, reason.clone())]));
                }
                Finding::Ignored { file, item, loses, reason, kept } => {
                    // What is none of its items stands behind them: partitions.
                    let asked = self.item(file, item).map_or_else(|| "PARTITION BY".into(), |(_, text)| text);
                    let (reason, kept) = (reason.clone(), kept.clone());
                    self.note_ignored(file, &[Ignored { asked, kept, reason, loses: *loses }]);
                }
            }
        }
        refused
    }

    /// Notes that an object is made and lacks something.
    pub(crate) fn lacks(&self, file: &str, what: &str, reason: &str) {
        let Some(origin) = self.objects.get(file) else { return };
        let mut notes = Notes::new(&origin.label);
        notes.add(what, "", Why::lost(reason));
        self.state().rewrites.extend(notes.rewrites);
    }

    /// Notes an object that cannot be made.
    pub(crate) fn refuse(&self, file: &str, reason: &str) {
        let Some(origin) = self.objects.get(file) else { return };
        let mut state = self.state();
        state.findings.push(Finding::refused(file, reason));
        state.refused.insert(Refusal { object: origin.label.clone(), reason: super::one_line(reason) });
    }

    /// What was rewritten until now.
    pub(crate) fn rewrites(&self) -> Vec<Rewrite> {
        self.state().rewrites.iter().cloned().collect()
    }

    /// What cannot be made, as far as that is known.
    pub(crate) fn refused(&self) -> Vec<Refusal> {
        self.state().refused.iter().cloned().collect()
    }

    /// Which rows of a table are loaded; `None` for all of them as they are.
    pub(crate) fn current(&self, table: &Table) -> Option<Current> {
        self.state().current.get(&table.script.file).cloned()
    }

    /// The manifest of what goes to the target: without objects that it has no kind of, columns as they are there.
    pub(crate) fn manifest(&self, manifest: &Manifest) -> Result<Manifest> {
        let mut changed = manifest.clone();
        if !self.is_other() && (self.target.takes_history || !has_history(manifest)) {
            return Ok(changed);
        }
        for schema in &mut changed.schemas {
            self.leave_out_kinds(schema)?;
            for table in &mut schema.tables {
                self.table(manifest, table)?;
            }
        }
        Ok(changed)
    }

    /// The manifest without what was refused.
    pub(crate) fn without_refused(&self, manifest: &Manifest) -> Manifest {
        let refused: BTreeSet<_> = self.refused().into_iter().map(|refusal| refusal.object).collect();
        let label = |file: &str| self.objects.get(file).map(|origin| &origin.label);
        without(manifest, |file| label(file).is_some_and(|label| refused.contains(label)))
    }

    fn leave_out_kinds(&self, schema: &mut Schema) -> Result<()> {
        let missing = |object: &Object| match (self.target.vendor, object.kind.as_str()) {
            (Vendor::MySql, "SEQUENCE") if self.new.is_tidb() => None,
            (Vendor::MySql, "SEQUENCE") => Some("MySQL has no sequences"),
            (Vendor::MySql, "PACKAGE" | "PACKAGE BODY") => Some("MySQL has no packages"),
            (Vendor::MariaDb, "LIBRARY") => Some("MariaDB has no libraries"),
            _ => None,
        };
        for objects in [&mut schema.sequences, &mut schema.routines] {
            for (object, reason) in objects.iter().filter_map(|object| Some((object, missing(object)?))) {
                let stands_at =
                    if object.kind == "SEQUENCE" { self.next_value(object)? } else { String::new() };
                self.refuse(&object.script.file, &format!("{reason}{stands_at}"));
            }
            objects.retain(|object| missing(object).is_none());
        }
        Ok(())
    }

    fn next_value(&self, sequence: &Object) -> Result<String> {
        let last = self.read(&sequence.script)?.pop().unwrap_or_default();
        let text = String::from_utf8_lossy(&last).into_owned();
        Ok(match text.split_once("SETVAL(").and_then(|(_, rest)| rest.rsplit_once(", ")) {
            Some((_, value)) => {
                format!("; the last value that it gave, or holds ready, is {}", value.trim_end_matches(')'))
            }
            None => {
                let value = text.rsplit_once('(').and_then(|(_, values)| Some(values.split_once(',')?.0));
                value
                    .map(|value| format!("; the next value that is not cached is {value}"))
                    .unwrap_or_default()
            }
        })
    }

    fn read(&self, script: &Script) -> Result<Vec<Vec<u8>>> {
        Ok(script::parse(&self.store.path(&script.file), &script.read(&self.store)?)?)
    }

    fn table(&self, manifest: &Manifest, table: &mut Table) -> Result<()> {
        self.note_rounded_documents(table);
        for column in table.columns.iter_mut().chain(&mut table.generated) {
            self.column(column);
        }
        let statements = if table.script.is_absent() { Vec::new() } else { self.read(&table.script)? };
        if table.with_history && !self.target.takes_history {
            let row_times = statements.last().map(|create| table::row_times(create)).unwrap_or_default();
            self.only_current(manifest, table, &row_times)?;
        }
        if table.script.is_absent() {
            return Ok(());
        }
        let create = statements.last().map(Vec::as_slice).unwrap_or_default();
        let as_bytes = table::kept_as_bytes(create, &self.target);
        for column in table.columns.iter_mut().filter(|column| as_bytes.contains(&column.name)) {
            // What is no ENUM any more has no error value.
            column.read = None;
        }
        let retyped = match self.crosses() {
            true => Vec::new(),
            false => {
                let is_unknown = |data_type: &str| self.target.unknown_types.contains(data_type);
                [as_bytes, table::columns_of(create, is_unknown)].concat()
            }
        };
        if table.key.as_ref().is_some_and(|key| key.columns.iter().any(|one| retyped.contains(&one.name))) {
            // As texts or bytes they have another order, so other rows lie between the borders of its files.
            table.key = None;
        }
        let rewritten = self.script(&table.script.file, statements).pop().unwrap_or_default();
        if let Some(engine) = table::engine(&rewritten) {
            table.engine = engine;
        }
        let lacks_subpartitions = self.is_for_tidb() && has_words(&rewritten, ["SUBPARTITION", "BY"]);
        let has_partitions = has_words(&rewritten, ["PARTITION", "BY"]) && !lacks_subpartitions;
        let is_read_whole = !has_partitions || !self.target.reads_partitions;
        if !table.partitions.is_empty() && is_read_whole {
            table.partitions.clear();
            // Its files were cut within each partition.
            table.key = None;
        }
        Ok(())
    }

    fn column(&self, column: &mut Column) {
        // There is no type to cast to: the text is the one that MySQL printed.
        if column.is_cast_to_json() && self.keeps_documents_as_text() {
            column.read = None;
        }
    }

    /// Whether JSON is text on the target, as on MariaDB and on MySQL before 5.7.
    fn keeps_documents_as_text(&self) -> bool {
        self.target.vendor == Vendor::MariaDb || self.target.unknown_types.contains("json")
    }

    /// Notes documents that the target could have kept as they were: a dump holds them as MySQL would load them.
    fn note_rounded_documents(&self, table: &Table) {
        let rows: u64 = table.files.iter().map(|file| file.retyped).sum();
        let has_documents = table.columns.iter().any(Column::is_cast_to_json);
        let Some(origin) = self.objects.get(&table.script.file) else { return };
        if rows > 0 && has_documents && self.keeps_documents_as_text() {
            let mut notes = Notes::new(&origin.label);
            let reason = "a dump holds documents as MySQL loads them, so 1.10 is 1.1 there and digits beyond the 17th are lost; drover copy \
                          brings the text as MySQL prints it";
            notes.add(&format!("JSON with a DECIMAL inside (rows: {rows})"), "a DOUBLE", Why::lost(reason));
            self.state().rewrites.extend(notes.rewrites);
        }
    }

    /// The warning for a restore with `--no-verify`: the tables that may hold negative zeros, which MariaDB makes 0.
    pub(crate) fn zeros_unseen(&self, manifest: &Manifest) -> Result<Option<String>> {
        if manifest.copied || self.target.vendor != Vendor::MariaDb || !self.crosses() {
            return Ok(None);
        }
        let mut names = Vec::new();
        for (schema, table) in
            manifest.tables().filter(|(_, table)| !table.script.is_absent() && table.rows() > 0)
        {
            let create = self.read(&table.script)?.pop().unwrap_or_default();
            if !table::doubles(&create).is_empty() {
                names.push(quote::qualified(&schema.name, &table.name));
            }
        }
        let Some(first) = names.first() else { return Ok(None) };
        Ok(Some(format!(
            "MariaDB has no negative zero: one in {first}{} is 0 now; whether there was one is not looked at with --no-verify",
            match names.len() - 1 {
                0 => String::new(),
                more => format!(" or {more} more tables with FLOAT or DOUBLE"),
            }
        )))
    }

    /// A table with the digests that its rows have on the target, where values of them are others there.
    pub(crate) fn as_held(&self, manifest: &Manifest, table: &Table) -> Result<Option<Table>> {
        // Of a copy there are no rows to look into: they were read as the target holds them.
        if manifest.copied
            || self.target.vendor != Vendor::MariaDb
            || !self.crosses()
            || table.script.is_absent()
        {
            return Ok(None);
        }
        let create = self.read(&table.script)?.pop().unwrap_or_default();
        let names = table::doubles(&create);
        let doubles = table.columns.iter().enumerate().filter(|(_, column)| names.contains(&column.name));
        let doubles: Vec<usize> = doubles.map(|(field, _)| field).collect();
        if doubles.is_empty() {
            return Ok(None);
        }
        let mut held = table.clone();
        for chunk in &mut held.files {
            let reader = RowReader::open(&self.store, manifest, &table.script, chunk)?;
            let sums = rows::sums(reader, |line, out| {
                rows::without_negative_zeros(line, &doubles, out);
                true
            })?;
            chunk.digest = sums.digest;
        }
        let differs = held.files.iter().zip(&table.files).any(|(held, had)| held.digest != had.digest);
        if let Some(origin) = self.objects.get(&table.script.file).filter(|_| differs) {
            let mut notes = Notes::new(&origin.label);
            notes.add("-0", "0", Why::lost("MariaDB has no negative zero"));
            self.state().rewrites.extend(notes.rewrites);
        }
        Ok(differs.then_some(held))
    }

    /// Only the rows of now go over; what they come to is read from the files.
    fn only_current(&self, manifest: &Manifest, table: &mut Table, row_times: &[String]) -> Result<()> {
        let Some(current) = Current::of(table, row_times) else {
            return Err(Error::found(format!(
                "{}: which columns say when a row was there?",
                table.script.file
            )));
        };
        let all = table.rows();
        for chunk in &mut table.files {
            let sums = current.sums(&self.store, manifest, &table.script, chunk)?;
            (chunk.rows, chunk.bytes, chunk.digest) = (sums.rows, sums.bytes, sums.digest);
            chunk.generated = drover_format::digest::Digest::default();
        }
        let mut field = 0..;
        table.columns.retain(|_| !field.next().is_some_and(|field| current.is_time(field)));
        (table.with_history, table.key) = (false, None);
        table.generated.clear();
        let past = all - table.rows();
        let mut state = self.state();
        if let Some(origin) = self.objects.get(&table.script.file).filter(|_| past > 0) {
            let mut notes = Notes::new(&origin.label);
            let reason = format!("{}: these rows are only in the dump", no_history(self.target.vendor));
            notes.add(&format!("history (rows: {past})"), "", Why::lost(&reason));
            state.rewrites.extend(notes.rewrites);
        }
        state.current.insert(table.script.file.clone(), current);
        Ok(())
    }
}

fn has_history(manifest: &Manifest) -> bool {
    manifest.tables().any(|(_, table)| table.with_history)
}

/// Whether a table has a TIMESTAMP that is never NULL and has no default.
fn has_bare_timestamps(store: &Store, manifest: &Manifest) -> Result<bool> {
    for (_, table) in manifest.tables().filter(|(_, table)| !table.script.is_absent()) {
        let statements = script::parse(&store.path(&table.script.file), &table.script.read(store)?)?;
        if statements.last().is_some_and(|create| table::has_bare_timestamp(create)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What servers must have in common to print definitions alike, but for details.
pub(crate) fn version(server: &Server) -> (Vendor, bool, u32, u32) {
    let (major, minor, _) = server.numbers();
    (server.vendor, server.is_tidb(), major, minor)
}

/// What servers must have in common for one to take what the other prints: patch releases of MySQL 8.0 brought syntax, and took some out.
fn grammar(server: &Server) -> (Vendor, bool, u32, u32, u32) {
    let (vendor, is_tidb, major, minor) = version(server);
    let patch = if (vendor, major, minor) == (Vendor::MySql, 8, 0) { server.numbers().2 } else { 0 };
    (vendor, is_tidb, major, minor, patch)
}

/// The manifest without the objects of some scripts.
pub(crate) fn without(manifest: &Manifest, is_out: impl Fn(&str) -> bool) -> Manifest {
    let mut changed = manifest.clone();
    for schema in &mut changed.schemas {
        schema.tables.retain(|table| !is_out(&table.script.file));
        let objects = [
            &mut schema.sequences,
            &mut schema.views,
            &mut schema.routines,
            &mut schema.triggers,
            &mut schema.events,
        ];
        objects.into_iter().for_each(|objects| objects.retain(|object| !is_out(&object.script.file)));
    }
    changed
}

fn has_words(create: &[u8], wanted: [&str; 2]) -> bool {
    use drover_db::sql::{Dialect, tokens};
    let words: Vec<_> = tokens(create, Dialect::default()).filter(|token| token.is_code()).collect();
    words.windows(2).any(|pair| pair[0].is_word(wanted[0]) && pair[1].is_word(wanted[1]))
}

fn origins(manifest: &Manifest) -> BTreeMap<String, Origin> {
    let mut origins = BTreeMap::new();
    for schema in &manifest.schemas {
        let mut add = |file: &str, label: String, is_table| {
            origins.insert(file.to_owned(), Origin { schema: schema.name.clone(), label, is_table });
        };
        add(&schema.script.file, format!("schema {}", quote::identifier(&schema.name)), false);
        for table in &schema.tables {
            add(&table.script.file, format!("table {}", quote::qualified(&schema.name, &table.name)), true);
        }
        let objects = [&schema.sequences, &schema.views, &schema.routines, &schema.triggers, &schema.events];
        for object in objects.into_iter().flatten() {
            let name = quote::qualified(&schema.name, &object.name);
            add(&object.script.file, format!("{} {name}", object.kind.to_lowercase()), false);
        }
    }
    origins
}
