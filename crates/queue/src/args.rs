//! The command line of `drover queue`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use drover_db::options::ServerArgs;
use drover_units::read::{duration, per_second};

/// An offline task queue in MySQL and MariaDB tables.
#[derive(Debug, clap::Args)]
pub struct QueueArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: QueueCommand,
}

/// What can be done with a queue.
#[derive(Debug, clap::Subcommand)]
pub enum QueueCommand {
    /// Make the queue's tables, and try whether the server can hold a queue
    Init(InitArgs),
    /// Put tasks into the queue
    Push(PushArgs),
    /// Put any number of tasks into the queue at once: all of them or none
    Build(BuildArgs),
    /// Work tasks off
    Work(WorkArgs),
    /// Tell what the queue holds, and how fast it moves
    Stat(StatArgs),
    /// Show the queue in browsers, live, and to Prometheus
    Serve(ServeArgs),
    /// List, retry or drop tasks that failed for the last time
    Dead(DeadArgs),
    /// Have tasks come again and again, at the times of a cron expression
    Schedule(ScheduleArgs),
    /// Set what holds for a kind of tasks, or for all
    Set(SetArgs),
    /// Begin no more tasks of a kind, or of any
    Pause(KindArgs),
    /// Resume tasks that were paused, of a kind or of all
    Resume(KindArgs),
    /// Have a shard take no more tasks from push and build; it is worked off
    Drain(DrainArgs),
    /// Move the tasks of a shard to other shards, while all are worked on
    Move(MoveArgs),
}

/// Where the queue is.
#[derive(Debug, Clone, clap::Args)]
pub struct PlaceArgs {
    /// Schema of the queue's tables
    #[arg(short = 'D', long, value_name = "SCHEMA")]
    pub database: Option<String>,

    /// File that names the queue's shards, each with its URL
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    pub shards: Option<PathBuf>,

    /// The server, where there is one.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Options of `init`.
#[derive(Debug, clap::Args)]
pub struct InitArgs {
    /// Where the queue is to be.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// What tasks are that do not say otherwise.
#[derive(Debug, Clone, clap::Args)]
pub struct TaskArgs {
    /// Kind of the tasks, from 0 to 65535
    #[arg(short, long, value_name = "NUMBER", default_value_t = 0)]
    pub kind: u16,

    /// The higher, the sooner; from -128 to 127
    #[arg(long, value_name = "NUMBER", default_value_t = 0, allow_hyphen_values = true)]
    pub priority: i8,

    /// Whose they are: tenants take turns
    #[arg(long, value_name = "NAME", default_value = "")]
    pub tenant: String,
}

/// Options of `push`.
#[derive(Debug, clap::Args)]
pub struct PushArgs {
    /// What the tasks are about: whole numbers or texts; - reads lines from standard input, each an id or a JSON object. A text that
    /// begins with a hyphen goes after --
    #[arg(value_name = "OBJECT_ID", required = true, allow_negative_numbers = true)]
    pub object_ids: Vec<String>,

    /// What they have in common.
    #[command(flatten)]
    pub task: TaskArgs,

    /// JSON that goes with each task
    #[arg(long, value_name = "JSON", value_parser = json)]
    pub payload: Option<String>,

    /// Begin them no sooner than in this time, such as 30s, 10m, 2h or 1d, or than at a time such as 2026-03-01T04:05:06Z
    #[arg(long, value_name = "TIME")]
    pub not_before: Option<String>,

    /// Where the queue is.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Options of `build`.
#[derive(Debug, clap::Args)]
pub struct BuildArgs {
    /// File with a line for each task, an id or a JSON object; - for standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["from_query", "cancel"])]
    pub file: Option<PathBuf>,

    /// Take the tasks from this statement's rows: the first column is the id, a second one the payload
    #[arg(long, value_name = "SELECT", conflicts_with = "file", requires = "source")]
    pub from_query: Option<String>,

    /// Server that the statement runs on, as a URL
    #[arg(long, value_name = "URL", value_parser = clap::value_parser!(drover_db::options::Secret))]
    pub source: Option<drover_db::options::Secret>,

    /// Name of the build: the same one resumes an interrupted build [default: from the kind, the file and the time]
    #[arg(long, value_name = "NAME")]
    pub job: Option<String>,

    /// Store tasks as fast as the servers take them, without pauses for live traffic
    #[arg(long)]
    pub no_pauses: bool,

    /// Drop what the build of this name has stored and not published
    #[arg(long, conflicts_with_all = ["file", "from_query"], requires = "job")]
    pub cancel: bool,

    /// What the tasks have in common.
    #[command(flatten)]
    pub task: TaskArgs,

    /// Where the queue is.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Options of `work`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("hands").required(true).args(["exec", "json_lines", "http"])))]
pub struct WorkArgs {
    /// Run this command of the shell for each task: it has the task as a line of JSON on its input and in DROVER_ID, DROVER_KIND,
    /// DROVER_OBJECT_ID, DROVER_ATTEMPT and DROVER_TENANT; exit status 0 is done, 75 later, any other a failure
    #[arg(long, value_name = "CMD")]
    pub exec: Option<String>,

    /// Run this command of the shell as a worker that lives on: it reads a line of JSON for each task and writes one with the same
    /// "lease" for each result, with "error" if it failed
    #[arg(long, value_name = "CMD")]
    pub json_lines: Option<String>,

    /// POST each task to this URL as a line of JSON: a status of 200 to 299 is done, 429 and 503 later, any other a failure
    #[arg(long, value_name = "URL", value_parser = clap::value_parser!(drover_db::options::Secret))]
    pub http: Option<drover_db::options::Secret>,

    /// Processes or requests that work at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub procs: u32,

    /// End when nothing is left but tasks that were pushed for a later time
    #[arg(long)]
    pub until_empty: bool,

    /// How long to wait for tasks that run when it is to stop, such as 30s or 5m
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub grace: Duration,

    /// After how long without a sign of life others take its tasks, 1s to 5m: more rides out longer interruptions of the network, less has
    /// tasks of a lost shepherd run sooner
    #[arg(long, value_name = "TIME", default_value = "7s", value_parser = lease)]
    pub lease: Duration,

    /// What the shepherd is called in `queue stat` [default: the host's name and the process's number]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Where the queue is.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Options of `stat`.
#[derive(Debug, clap::Args)]
pub struct StatArgs {
    /// Where the queue is.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Options of `serve`.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// Address and port to listen on; port 0 for any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,

    /// Let those who know the token in this file (at least 16 characters) pause kinds and retry or drop dead tasks; without it
    /// nothing can be changed
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// Where the queue is.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Options of `dead`.
#[derive(Debug, clap::Args)]
pub struct DeadArgs {
    /// What to do with them
    #[arg(value_enum, default_value = "list")]
    pub action: DeadAction,

    /// Only this task; may be given several times
    #[arg(long, value_name = "NUMBER")]
    pub id: Vec<u64>,

    /// Only tasks of this kind
    #[arg(short, long, value_name = "NUMBER")]
    pub kind: Option<u16>,

    /// Only those whose error holds this text
    #[arg(long, value_name = "TEXT")]
    pub error: Option<String>,

    /// With `drop`: all dead tasks, where none of --id, --kind and --error says which
    #[arg(long, conflicts_with_all = ["id", "kind", "error"])]
    pub all: bool,

    /// At most so many of each shard [default: 100 for list, else all]
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,

    /// Where the queue is.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// What is done with dead tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum DeadAction {
    /// Show them
    List,
    /// Give them another try
    Retry,
    /// Drop them
    Drop,
}

/// Tasks that come again and again.
#[derive(Debug, clap::Args)]
pub struct ScheduleArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: ScheduleCommand,
}

/// What can be done with schedules.
#[derive(Debug, clap::Subcommand)]
pub enum ScheduleCommand {
    /// Set a schedule, a new one or instead of the one that has its name
    Set(ScheduleSetArgs),
    /// List schedules with their next and last times
    List(ScheduleListArgs),
    /// Drop a schedule; tasks that came of it stay
    Drop(ScheduleNameArgs),
    /// Let no more tasks of a schedule come
    Pause(ScheduleNameArgs),
    /// Let them come again from now on
    Resume(ScheduleNameArgs),
}

/// Options of `schedule set`.
#[derive(Debug, clap::Args)]
pub struct ScheduleSetArgs {
    /// What the schedule is called
    #[arg(value_name = "NAME")]
    pub name: String,

    /// What its tasks are about: a whole number or a text
    #[arg(value_name = "OBJECT_ID", allow_negative_numbers = true)]
    pub object_id: String,

    /// When they come: minute, hour, day of the month, month and day of the week, such as '30 3 * * MON-FRI' or '*/10 * * * *'; with a
    /// sixth field before these, its seconds; or @hourly, @daily, @weekly, @monthly, @yearly
    #[arg(long, value_name = "EXPRESSION")]
    pub cron: String,

    /// Time zone that this is meant in, such as Europe/Zurich
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    pub timezone: String,

    /// What the tasks are.
    #[command(flatten)]
    pub task: TaskArgs,

    /// JSON that goes with each task
    #[arg(long, value_name = "JSON", value_parser = json)]
    pub payload: Option<String>,

    /// Where the queue is.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Options of `schedule list`.
#[derive(Debug, clap::Args)]
pub struct ScheduleListArgs {
    /// Where the queue is.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Options of `schedule drop`, `pause` and `resume`.
#[derive(Debug, clap::Args)]
pub struct ScheduleNameArgs {
    /// What the schedule is called
    #[arg(value_name = "NAME")]
    pub name: String,

    /// Where the queue is.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Options of `pause` and `resume`.
#[derive(Debug, clap::Args)]
pub struct KindArgs {
    /// The kind [default: all kinds]
    #[arg(short, long, value_name = "NUMBER")]
    pub kind: Option<u16>,

    /// Where the queue is.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Options of `drain`.
#[derive(Debug, clap::Args)]
pub struct DrainArgs {
    /// Name of the shard; where there is only one it may be left out
    #[arg(value_name = "SHARD")]
    pub shard: Option<String>,

    /// Wait until the shard has nothing left that is to be done some time
    #[arg(long, conflicts_with_all = ["undo", "close"])]
    pub wait: bool,

    /// Close the shard, which is to be copied to another server: shepherds end what runs and leave, and nothing can be put in any more
    #[arg(long, conflicts_with = "undo")]
    pub close: bool,

    /// Have the shard take tasks again, drained or closed
    #[arg(long)]
    pub undo: bool,

    /// Where the queue is.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Options of `move`.
#[derive(Debug, clap::Args)]
pub struct MoveArgs {
    /// Name of the shard whose tasks are to go; it takes no more from then on
    #[arg(long, value_name = "SHARD")]
    pub from: String,

    /// Name of the shard that they go to [default: all others, by their place]
    #[arg(long, value_name = "SHARD")]
    pub to: Option<String>,

    /// Where the queue is.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Options of `set`.
#[derive(Debug, clap::Args)]
pub struct SetArgs {
    /// The kind [default: all kinds that do not say otherwise]
    #[arg(short, long, value_name = "NUMBER")]
    pub kind: Option<u16>,

    /// Whether an object has at most one unfinished task
    #[arg(long, value_name = "YES|NO", value_parser = yes_or_no)]
    pub unique: Option<bool>,

    /// How often a task is tried before it is dead
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub max_attempts: Option<u16>,

    /// How long a task waits after its first failure; after each further one twice as long
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub backoff: Option<Duration>,

    /// How long it waits at most
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub backoff_max: Option<Duration>,

    /// A task has failed if nothing is heard of it for so long
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout: Option<Duration>,

    /// So many are begun a second, by all shepherds together; 0 for any number
    #[arg(long, value_name = "NUMBER", value_parser = rate)]
    pub rate: Option<f64>,

    /// So many run at once, by all shepherds together; 0 for any number
    #[arg(long, value_name = "N")]
    pub concurrency: Option<u32>,

    /// How long finished tasks are kept
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub keep: Option<Duration>,

    /// Where the queue is.
    #[command(flatten)]
    pub place: PlaceArgs,
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "true" | "on" | "1" => Ok(true),
        "no" | "false" | "off" | "0" => Ok(false),
        _ => Err("write yes or no".into()),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    if text == "0" { Ok(0.0) } else { per_second(text) }
}

fn lease(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        lease if (1..=300).contains(&lease.as_secs()) => Ok(lease),
        _ => Err("write a time from 1s to 5m".into()),
    }
}

fn json(text: &str) -> Result<String, String> {
    match serde_json::from_str::<&serde_json::value::RawValue>(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!("it is no JSON: {error}")),
    }
}
