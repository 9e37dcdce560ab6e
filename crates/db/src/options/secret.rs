//! Passwords, and how they stay unseen: a string type that prints as `***`, and the blanking of passwords in
//! this process's command line, where any user of the host could read them with `ps`.
//!
//! This hides a secret from logs, errors and other users. It does not defend against someone who can read
//! this process's memory.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// A password or a text that holds one. It prints as `***` and cannot be serialised.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself, for the one place that sends it to the server. Never pass it to a formatter.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the text is empty: an empty password is the same as none to the server.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Secret {
        Secret(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Secret {
        Secret(text.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Overwrites with `x` every password in this process's command line, as the mysql client does, so that `ps`
/// does not show it.
///
/// Blanked are `-pSECRET`, `--password=SECRET` and the like for one of two servers, what stands between the colon and the last `@` of any
/// `scheme://user:SECRET@host`, and `?password=SECRET`. A short time remains between the start of the process and this call in which
/// the password is visible; only an option file, the environment or the prompt has no such time.
///
/// Call it once, from `main`, after `std::env::args_os()` was collected (later calls of it see the x's) and
/// before any thread is started. Where the platform gives no access to the original arguments (anything but
/// Linux with glibc) it does nothing.
pub fn hide_passwords_in_process_list() {
    argv::blank(secret_ranges);
}

/// The bytes of `argument` to blank.
///
/// Broken URLs count too: a password with a raw `/` or `@` in it must be hidden although the URL is refused
/// later.
fn secret_ranges(argument: &[u8]) -> Vec<Range<usize>> {
    const LONG: [&[u8]; 3] = [b"--password=", b"--from-password=", b"--to-password="];
    let option = LONG.iter().copied().chain([&b"-p"[..]]).find(|option| argument.starts_with(option));
    match option {
        Some(option) => std::iter::once(option.len()..argument.len()).collect(),
        None => url_passwords(argument),
    }
}

/// The bytes of a URL's passwords, from left to right.
fn url_passwords(url: &[u8]) -> Vec<Range<usize>> {
    let found = authority_password(url).into_iter().chain(query_passwords(url));
    let mut found: Vec<_> = found.filter(|range| !range.is_empty()).collect();
    found.sort_by_key(|range| range.start);
    let mut passwords: Vec<Range<usize>> = Vec::new();
    for range in found {
        match passwords.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => passwords.push(range),
        }
    }
    passwords
}

/// What is between the user's colon and the last `@`, as it may hold what should have been escaped; also where a slash was forgotten.
fn authority_password(url: &[u8]) -> Option<Range<usize>> {
    let slash = url.windows(2).position(|w| w == b":/")? + 1;
    let authority = slash + url[slash..].iter().take_while(|&&byte| byte == b'/').count();
    let at = url.iter().rposition(|&b| b == b'@')?;
    let colon = authority + url.get(authority..at)?.iter().position(|&b| b == b':')?;
    Some(colon + 1..at)
}

/// The values of `?password=` and the like, which other programs take in their URLs.
fn query_passwords(url: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    const NAMES: [&str; 3] = ["pass", "pwd", "secret"];
    let is_between = |byte: &u8| matches!(byte, b'?' | b'&' | b';');
    let begins = (0..url.len()).filter(move |&at| is_between(&url[at])).map(|at| at + 1);
    begins.filter_map(move |begin| {
        let end = begin + url[begin..].iter().position(|byte| *byte == b'&').unwrap_or(url.len() - begin);
        let value = begin + url[begin..end].iter().position(|&byte| byte == b'=')? + 1;
        let name = String::from_utf8_lossy(&url[begin..value]).to_ascii_lowercase();
        NAMES.iter().any(|known| name.contains(known)).then_some(value..end)
    })
}

/// A text for people without the passwords of URLs, with `***` in the place of each: somebody may have named a server where a file was
/// asked for, and an error names the file. Words end at white space.
pub fn without_passwords(text: &str) -> Cow<'_, str> {
    let hidden = |word: &str| {
        let url = word.trim_end_matches(|c: char| c.is_whitespace() || "'\":,".contains(c));
        let passwords = url_passwords(url.as_bytes());
        let (mut shown, mut from) = (String::new(), 0);
        for password in &passwords {
            shown += &word[from..password.start];
            shown += "***";
            from = password.end;
        }
        (!passwords.is_empty()).then(|| shown + &word[from..])
    };
    let words = || text.split_inclusive(char::is_whitespace);
    if words().all(|word| hidden(word).is_none()) {
        return Cow::Borrowed(text);
    }
    words().map(|word| hidden(word).unwrap_or_else(|| word.to_owned())).collect::<String>().into()
}

/// The process's own argument memory, the only place where `ps` looks.
///
/// glibc passes `main`'s arguments to every function in `.init_array` (`call_init` in glibc's
/// `csu/libc-start.c` and `elf/dl-init.c`); this is also how Rust's standard library learns them.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
mod argv {
    use std::ffi::{CStr, c_char, c_int};
    use std::ops::Range;
    use std::ptr;
    use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

    static COUNT: AtomicUsize = AtomicUsize::new(0);
    static VECTOR: AtomicPtr<*mut c_char> = AtomicPtr::new(ptr::null_mut());

    extern "C" fn capture(argc: c_int, argv: *mut *mut c_char, _environment: *const *const c_char) {
        COUNT.store(usize::try_from(argc).unwrap_or(0), Ordering::Relaxed);
        VECTOR.store(argv, Ordering::Relaxed);
    }

    // SAFETY: the loader calls each entry of this section with exactly these three C arguments. `capture`
    // only stores into statics that need no initialisation, so it may run before anything else is set up.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static CAPTURE: extern "C" fn(c_int, *mut *mut c_char, *const *const c_char) = capture;

    /// Overwrites with `x` the ranges that `find` returns for each argument.
    pub(super) fn blank(find: impl Fn(&[u8]) -> Vec<Range<usize>>) {
        let vector = VECTOR.load(Ordering::Relaxed);
        if vector.is_null() {
            return;
        }
        for index in 0..COUNT.load(Ordering::Relaxed) {
            // SAFETY: `vector` points to `COUNT` pointers followed by a null pointer; both came from the
            // loader and live as long as the process.
            let argument = unsafe { *vector.add(index) };
            if !argument.is_null() {
                blank_one(argument, &find);
            }
        }
    }

    fn blank_one(argument: *mut c_char, find: impl Fn(&[u8]) -> Vec<Range<usize>>) {
        // SAFETY: each argument is a NUL-terminated string that lives as long as the process. The borrow ends
        // before the bytes are written.
        let ranges = find(unsafe { CStr::from_ptr(argument) }.to_bytes());
        for offset in ranges.into_iter().flatten() {
            // SAFETY: `offset` lies within the string found above. The memory is the process's stack, which
            // is writable, and the caller promises that no other thread reads the arguments meanwhile.
            unsafe { argument.add(offset).cast::<u8>().write_volatile(b'x') };
        }
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod argv {
    use std::ops::Range;

    pub(super) fn blank(_find: impl Fn(&[u8]) -> Vec<Range<usize>>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_prints_itself() {
        let secret = Secret::from("hunter2");
        assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "*** *** Some(***)");
        assert_eq!(secret.expose(), "hunter2");
    }

    fn blanked(argument: &str) -> String {
        let mut bytes = argument.as_bytes().to_vec();
        for range in secret_ranges(&bytes) {
            bytes[range].fill(b'x');
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn passwords_in_all_forms_are_found() {
        for (argument, expected) in [
            ("-pabc", "-pxxx"),
            ("-p=a", "-pxx"),
            ("--password=abc", "--password=xxx"),
            ("--to-password=abc", "--to-password=xxx"),
            ("--url=mysql://u:abc@h", "--url=mysql://u:xxx@h"),
            ("mysql://u:abc@h:3306/db", "mysql://u:xxx@h:3306/db"),
            ("mariadb://u:a:c@h", "mariadb://u:xxx@h"),
            ("--from=mysql://u:a/b@c?d@h", "--from=mysql://u:xxxxxxx@h"),
            ("mysql://:abc@h", "mysql://:xxx@h"),
            ("s3://key:abc@bucket", "s3://key:xxx@bucket"),
            ("mysql:/u:abc@h", "mysql:/u:xxx@h"),
            ("mysql:///u:abc@h", "mysql:///u:xxx@h"),
            ("mysql://h/db?password=abc", "mysql://h/db?password=xxx"),
            (
                "--url=jdbc:mysql://h:1/db?user=u&Password=a;b&x=y",
                "--url=jdbc:mysql://h:1/db?user=u&Password=xxx&x=y",
            ),
            ("mysql://h:1/db?pwd=a@b&pass=c", "mysql://h:xxxxxxxxxxxx&pass=x"),
            ("mysql://u:a@h?pass=b", "mysql://u:x@h?pass=x"),
            ("mysql://h/db?password=a:b@c", "mysql://h/db?password=xxxxx"),
            ("mysql://h/db?password=se:cret&mail=x@y", "mysql://h/db?password=xxxxxxxxxxxxxx@y"),
        ] {
            assert_eq!(blanked(argument), expected);
        }
    }

    #[test]
    fn texts_without_the_passwords_of_urls() {
        for (text, shown) in [
            ("mysql://u:hunter2@h/x: not there", "mysql://u:***@h/x: not there"),
            (
                "invalid value 'a://u:h/u@n?ter2@h' for X\n  ü://ü:ü@ü",
                "invalid value 'a://u:***@h' for X\n  ü://ü:***@ü",
            ),
            ("s3://key:abc@bucket/p mysql://:abc@h", "s3://key:***@bucket/p mysql://:***@h"),
            ("mysql:/u:hunter2@h: not there", "mysql:/u:***@h: not there"),
            ("mysql://h/db?password=a:b@c", "mysql://h/db?password=***"),
            ("mysql://h/db?password=se:cret&mail=x@y", "mysql://h/db?password=***@y"),
            (
                "invalid value 'jdbc:mysql://u:ab@h/x?password=ü&b=c' for 'mysql://h/x?pwd=hunter2':",
                "invalid value 'jdbc:mysql://u:***@h/x?password=***&b=c' for 'mysql://h/x?pwd=***':",
            ),
        ] {
            assert_eq!(without_passwords(text), shown);
        }
        for text in [
            "mysql://u@h:3306/x",
            "http://127.0.0.1:80/ of u@h",
            "u:p@h",
            "mysql://u:@h",
            "://",
            "x?password=",
            "?a=b",
        ] {
            assert!(matches!(without_passwords(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn other_arguments_stay() {
        for argument in [
            "",
            "-",
            "-p",
            "--password",
            "--password=",
            "--port=3306",
            "-P3306",
            "mysql://u@h:3306/db",
            "mysql://h:3306",
            "mysql://u:@h",
            "user:secret@host",
            "a@b://c:d",
            "://",
        ] {
            assert_eq!(blanked(argument), argument);
        }
    }

    /// Runs this test program again with a URL among its arguments (to the test harness a filter that matches
    /// nothing), where it blanks the URL and reads its own command line as `ps` would.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn ps_does_not_show_the_password() {
        const VARIABLE: &str = "OPTIONS_TEST_BLANK_ARGUMENTS";
        const URL: &str = "mysql://u:hunter2@h";
        if std::env::var_os(VARIABLE).is_some() {
            hide_passwords_in_process_list();
            let shown = std::fs::read("/proc/self/cmdline").unwrap();
            let shown = String::from_utf8(shown).unwrap();
            assert!(shown.contains("\0mysql://u:xxxxxxx@h\0") && !shown.contains("hunter2"), "{shown:?}");
            return;
        }
        let (_crate_name, module) = module_path!().split_once("::").unwrap();
        let test = format!("{module}::ps_does_not_show_the_password");
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &test, URL, "--test-threads=1"])
            .env(VARIABLE, "1")
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
    }
}
