//! A browser that a test looks at a page with: Chromium, over its own protocol (CDP), which it speaks on two pipes.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::client::wait_until;

/// A browser with one page, until this is dropped.
pub(crate) struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    last: u64,
    session: Option<String>,
    complaints: Vec<String>,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let _ = self.child.wait();
    }
}

impl Browser {
    /// Opens a page as wide as a phone; what the browser keeps is in `dir`.
    pub(crate) fn open(dir: &Path, url: &str) -> Self {
        let (to, from) = (dir.join("to-browser"), dir.join("from-browser"));
        assert!(Command::new("mkfifo").args([&to, &from]).status().unwrap().success());
        let line = format!(
            "exec chromium --headless --no-sandbox --disable-gpu --remote-debugging-pipe --user-data-dir='{}' about:blank \
             3<'{}' 4>'{}'",
            dir.join("browser").display(),
            to.display(),
            from.display()
        );
        let mut command = Command::new("sh");
        command.args(["-c", &line]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        // In the order in which the shell opens them.
        let to = File::options().write(true).open(to).unwrap();
        let from = BufReader::new(File::open(from).unwrap());
        let mut browser = Self { child, to, from, last: 0, session: None, complaints: Vec::new() };
        browser.attach();
        browser.call("Log.enable", json!({}));
        let phone = json!({"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true});
        browser.call("Emulation.setDeviceMetricsOverride", phone);
        browser.call("Page.navigate", json!({ "url": url }));
        browser
    }

    fn attach(&mut self) {
        let targets = self.call("Target.getTargets", json!({}));
        let targets = targets["targetInfos"].as_array().unwrap();
        let page = targets.iter().find(|target| target["type"] == "page").unwrap();
        let attached =
            self.call("Target.attachToTarget", json!({"targetId": page["targetId"], "flatten": true}));
        self.session = attached["sessionId"].as_str().map(str::to_owned);
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut bytes = Vec::new();
            assert!(self.from.read_until(0, &mut bytes).unwrap() > 0, "the browser is gone");
            let mut answer: Value = serde_json::from_slice(&bytes[..bytes.len() - 1]).unwrap();
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
            let entry = &answer["params"]["entry"];
            if answer["method"] == "Log.entryAdded" && entry["level"] == "error" {
                self.complaints.push(entry["text"].to_string());
            }
        }
    }

    /// The value of an expression of the page's language.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let mut answer =
            self.call("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        answer["result"]["value"].take()
    }

    /// Waits until the text of an element holds `words`.
    pub(crate) fn wait_for(&mut self, element: &str, words: &str) {
        let text = format!("document.querySelector({element:?})?.innerText ?? ''");
        let mut last = String::new();
        wait_until(format!("{element} holds {words:?}"), || {
            last = self.value(&text).as_str().unwrap_or_default().to_owned();
            last.contains(words)
        });
    }

    /// Whether the page fits a telephone and a desk in both schemes, and fetches nothing.
    pub(crate) fn assert_fits(&mut self) {
        for scheme in ["light", "dark"] {
            self.prefer(scheme);
            assert_eq!(self.value(&format!("matchMedia('(prefers-color-scheme: {scheme})').matches")), true);
            for width in [400, 1200] {
                self.resize(width);
                let fits = self.value("document.documentElement.scrollWidth <= innerWidth");
                assert_eq!(fits, true, "{scheme} at {width}");
            }
        }
        assert_eq!(self.value("performance.getEntriesByType('resource').length"), 0);
    }

    /// What the browser complained of so far: what the page was not allowed to do, or could not load.
    pub(crate) fn complaints(&self) -> &[String] {
        &self.complaints
    }

    /// Clicks on an element.
    pub(crate) fn click(&mut self, element: &str) {
        self.value(&format!("document.querySelector({element:?}).click()"));
    }

    /// Makes the page so wide, in pixels.
    pub(crate) fn resize(&mut self, width: u32) {
        let size = json!({"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Has the reader prefer `light` or `dark`.
    pub(crate) fn prefer(&mut self, scheme: &str) {
        let feature = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": feature }));
    }
}
