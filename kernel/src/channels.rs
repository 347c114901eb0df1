//! The sockets. One thread reads, routes and sends messages; it never waits for a cell.

use crate::cells::contained;
use crate::outbox::{Channel, Outbox, Request};
use crate::wire::{self, Message, SigningKey};
use adl_interp::fault;
use jupyter_protocol::ConnectionInfo;
use jupyter_protocol::connection_info::Transport;
use jupyter_zmq_client as zmq;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use zeromq::{SocketRecv, SocketSend};

/// The time after which a message is dropped that a front end does not receive.
const STUCK: Duration = Duration::from_secs(5);
/// The interval of progress requests and of checks whether the parent process lives.
const TICK: Duration = Duration::from_millis(100);

/// The destinations of incoming messages.
#[derive(Clone)]
pub struct Inboxes {
    /// Cells and comms, for the evaluator.
    pub jobs: Sender<Request>,
    /// Requests that are answered while a cell runs.
    pub desk: Sender<Request>,
    /// The user's input.
    pub answers: Sender<String>,
    /// Stops the running cell.
    pub interrupt: Arc<AtomicBool>,
    /// Requests a progress report.
    pub tick: Arc<AtomicBool>,
}

/// Parses the connection file, leniently.
pub fn connection(text: &str) -> Result<ConnectionInfo, String> {
    let file: Json = serde_json::from_str(text).map_err(|e| format!("it is not JSON: {e}"))?;
    let port = |name: &str| {
        file[name].as_u64().and_then(|p| u16::try_from(p).ok()).ok_or_else(|| format!("`{name}` is missing or no port"))
    };
    let text = |name: &str, otherwise: &str| file[name].as_str().unwrap_or(otherwise).to_owned();
    let scheme = text("signature_scheme", "hmac-sha256");
    if scheme != "hmac-sha256" {
        return Err(format!("its signature scheme is `{scheme}`; only hmac-sha256 is known"));
    }
    let transport = match text("transport", "tcp").as_str() {
        "tcp" => Transport::TCP,
        "ipc" => Transport::IPC,
        other => return Err(format!("its transport is `{other}`; tcp and ipc are known")),
    };
    let ip = text("ip", if transport == Transport::TCP { "127.0.0.1" } else { "kernel-ipc" });
    Ok(ConnectionInfo {
        // ZeroMQ uses a star for all interfaces.
        ip: if ip == "*" { "0.0.0.0".into() } else { ip },
        transport,
        shell_port: port("shell_port")?,
        iopub_port: port("iopub_port")?,
        stdin_port: port("stdin_port")?,
        control_port: port("control_port")?,
        hb_port: port("hb_port")?,
        key: text("key", ""),
        signature_scheme: scheme,
        kernel_name: None,
    })
}

/// Starts the socket thread. It runs until the process ends, and ends the process at a shutdown, after `at_shutdown`.
pub fn start(info: ConnectionInfo, inboxes: Inboxes, at_shutdown: fn()) -> Result<Outbox, String> {
    let session = uuid::Uuid::new_v4().to_string();
    let (shell, shell_out) = unbounded_channel();
    let (control, control_out) = unbounded_channel();
    let (stdin, stdin_out) = unbounded_channel();
    let outbox = Outbox::new(&session, shell, control, stdin);
    let (ready, bound) = std::sync::mpsc::channel();
    let out = outbox.clone();
    std::thread::spawn(move || {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(r) => r,
            Err(e) => return drop(ready.send(Err(e.to_string()))),
        };
        runtime.block_on(async {
            let sockets = match Sockets::bind(&info, &session).await {
                Ok(s) => s,
                Err(e) => return drop(ready.send(Err(e))),
            };
            let _ = ready.send(Ok(()));
            sockets.serve(MessageRouter { inboxes, out, info, at_shutdown }, [shell_out, control_out, stdin_out]).await;
        });
    });
    bound.recv().unwrap_or_else(|_| Err("the thread of the sockets ended".into()))?;
    Ok(outbox)
}

struct Sockets {
    shell: zmq::KernelShellConnection,
    control: zmq::KernelControlConnection,
    stdin: zmq::KernelStdinConnection,
    published: zmq::KernelIoPubXPubConnection,
    heartbeat: zmq::KernelHeartbeatConnection,
}

impl Sockets {
    async fn bind(info: &ConnectionInfo, session: &str) -> Result<Sockets, String> {
        let said = |e: zmq::RuntimeError| format!("a socket could not be opened: {e}");
        Ok(Sockets {
            shell: zmq::create_kernel_shell_connection(info, session).await.map_err(said)?,
            control: zmq::create_kernel_control_connection(info, session).await.map_err(said)?,
            stdin: zmq::create_kernel_stdin_connection(info, session).await.map_err(said)?,
            published: zmq::create_kernel_iopub_xpub_connection(info, session).await.map_err(said)?,
            heartbeat: zmq::create_kernel_heartbeat_connection(info).await.map_err(said)?,
        })
    }

    async fn serve(self, desk: MessageRouter, outs: [UnboundedReceiver<Message>; 3]) {
        let key = self.shell.mac.clone();
        let [shell_out, control_out, stdin_out] = outs;
        let desk = Arc::new(desk);
        let routers = [
            (self.shell, shell_out, Channel::Shell),
            (self.control, control_out, Channel::Control),
            (self.stdin, stdin_out, Channel::Stdin),
        ];
        for (connection, out, channel) in routers {
            let (send, receive) = connection.split();
            tokio::spawn(write(send.socket, out, key.clone()));
            tokio::spawn(read(receive.socket, channel, desk.clone(), key.clone()));
        }
        tokio::spawn(beat(self.heartbeat.socket));
        tokio::spawn(publish(self.published.socket, desk.out.clone(), key));
        watch(&desk).await;
    }
}

async fn write(mut socket: zeromq::RouterSendHalf, mut out: UnboundedReceiver<Message>, key: SigningKey) {
    while let Some(m) = out.recv().await {
        if let Ok(Some(m)) = contained(|| wire::write(m, &key)) {
            // A peer that is gone or does not read gets no reply.
            let _ = tokio::time::timeout(STUCK, socket.send(m)).await;
        }
    }
}

async fn read(mut socket: zeromq::RouterRecvHalf, channel: Channel, desk: Arc<MessageRouter>, key: SigningKey) {
    loop {
        match socket.recv().await {
            Ok(raw) => {
                if let Ok(Some(message)) = contained(|| wire::read(raw, &key)) {
                    desk.sort(Request { message, channel, arrived: Instant::now() }).await;
                }
            }
            // A failed connection must not stop the others.
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

/// Echoes heartbeats.
async fn beat(mut socket: zeromq::RepSocket) {
    loop {
        match socket.recv().await {
            Ok(m) => drop(tokio::time::timeout(STUCK, socket.send(m)).await),
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

/// Publishes messages, and welcomes new subscribers.
async fn publish(mut socket: zeromq::XPubSocket, out: Outbox, key: SigningKey) {
    loop {
        tokio::select! {
            messages = out.collect() => {
                for m in messages {
                    if let Ok(Some(m)) = contained(|| wire::write(m, &key)) {
                        let _ = tokio::time::timeout(STUCK, socket.send(m)).await;
                    }
                }
            }
            event = socket.recv() => match event.as_ref().map(zmq::parse_subscription_message) {
                Ok(Some(zmq::SubscriptionEvent::Subscribe(topic))) => out.welcome(&topic),
                Ok(_) => {}
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            },
        }
    }
}

/// Requests progress reports, and ends the kernel when its parent process is gone.
async fn watch(desk: &MessageRouter) {
    let parent = std::env::var_os("JPY_PARENT_PID").map(|_| std::os::unix::process::parent_id());
    loop {
        tokio::time::sleep(TICK).await;
        desk.inboxes.tick.store(true, Ordering::Relaxed);
        if parent.is_some_and(|p| p != std::os::unix::process::parent_id()) {
            desk.end();
        }
    }
}

/// Routes incoming messages.
pub struct MessageRouter {
    /// Where messages go.
    pub inboxes: Inboxes,
    /// Where replies go.
    pub out: Outbox,
    /// The addresses of the kernel.
    pub info: ConnectionInfo,
    /// What is done before the process ends.
    pub at_shutdown: fn(),
}

impl MessageRouter {
    /// Routes a message. A panic fails the request, and the thread goes on; a shutdown ends the process.
    pub async fn sort(&self, request: Request) {
        let mut pending = Some(request);
        let outcome = contained(|| {
            fault::point(fault::PanicPoint::Router);
            pending.take().is_some_and(|r| self.route(r))
        });
        match (outcome, pending) {
            (Ok(true), _) => {
                // Pending output is sent first.
                tokio::time::sleep(Duration::from_millis(100)).await;
                self.end();
            }
            (Err(failure), Some(request)) if request.message.kind().ends_with("_request") => {
                let mut content = failure.content();
                content["status"] = json!("error");
                self.answer(&request, &request.message.kind().replace("_request", "_reply"), content);
            }
            _ => {}
        }
    }

    /// Hands a message to the thread that answers it, or answers it. Whether it requests the end of the kernel.
    fn route(&self, request: Request) -> bool {
        // If the receiving thread has ended, the message is dropped.
        match request.message.kind() {
            "execute_request" | "comm_open" | "comm_msg" | "comm_close" => drop(self.inboxes.jobs.send(request)),
            "input_reply" => drop(self.inboxes.answers.send(request.message.text("value").to_owned())),
            "interrupt_request" => {
                self.inboxes.interrupt.store(true, Ordering::Relaxed);
                self.answer(&request, "interrupt_reply", json!({"status": "ok"}));
            }
            "shutdown_request" => {
                let content = json!({"status": "ok", "restart": request.message.flag("restart", false)});
                self.out.publish(&request.message.header, "shutdown_reply", content.clone());
                self.answer(&request, "shutdown_reply", content);
                return true;
            }
            _ => drop(self.inboxes.desk.send(request)),
        }
        false
    }

    fn end(&self) -> ! {
        let info = &self.info;
        if info.transport == Transport::IPC {
            for port in [info.shell_port, info.iopub_port, info.stdin_port, info.control_port, info.hb_port] {
                let _ = std::fs::remove_file(format!("{}-{port}", info.ip));
            }
        }
        (self.at_shutdown)();
        std::process::exit(0)
    }

    fn answer(&self, request: &Request, kind: &str, content: Json) {
        self.out.status(&request.message.header, "busy");
        self.out.reply(request, kind, content);
        self.out.status(&request.message.header, "idle");
    }
}
