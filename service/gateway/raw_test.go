package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/scope"
)

// The places below {base_url} that the rows ask.
const (
	chat = "/v1/ada/personal/agents/central/x"
	hook = "/v1/ada/personal/channels/hook/in"
)

// row is a request as bytes, and what comes of it.
type row struct {
	name    string
	line    string // the request line; empty: GET of the chat
	head    string // lines of the head after Host and Authorization, each with its end
	body    string
	bare    bool // no Host and Authorization are added
	status  int
	typ     string            // of the refusal
	arrives map[string]string // what the runtime must see; "-" is nothing
	target  string            // what the runtime is asked; empty: the chat
	hook    bool              // a webhook, whose headers pass
	entry   bool              // it is for the entrypoint of a project, whose headers pass too
}

// gets and posts are what rows begin with.
func gets(path string) string  { return "GET " + path + " HTTP/1.1" }
func posts(path string) string { return "POST " + path + " HTTP/1.1" }

const eve = "users/eve/personal"

// spellings are rows about headers that only the gateway may set.
var spellings = []row{
	{name: "nothing special", status: 200},
	{name: "scope", head: "X-Svc-Scope: " + eve + "\r\n", status: 200},
	{name: "scope, lower case", head: "x-svc-scope: " + eve + "\r\n", status: 200},
	{name: "scope, mixed case", head: "x-SVC-sCoPe: " + eve + "\r\n", status: 200},
	{name: "scope, twice", head: "X-Svc-Scope: " + eve + "\r\nX-Svc-Scope: users/ada/personal\r\n", status: 200},
	{name: "scope, twice in two cases", head: "X-SVC-SCOPE: " + eve + "\r\nx-svc-scope: users/ada/personal\r\n", status: 200},
	{name: "scope as a list", head: "X-Svc-Scope: users/ada/personal, " + eve + "\r\n", status: 200},
	{name: "scope, empty", head: "X-Svc-Scope:\r\n", status: 200},
	{name: "scope admin", head: "X-Svc-Scope: admin\r\nX-Svc-Authority: admin\r\n", status: 200},
	{name: "account", head: "X-Svc-Account: eve\r\nX-Svc-Account-Id: acc_eve\r\n", status: 200},
	{name: "actor", head: "X-Svc-Actor: eve\r\n", status: 200},
	{name: "authority", head: "X-Svc-Authority: admin\r\n", status: 200},
	{name: "the token itself", head: "X-Svc-Runtime-Token: " + runtimeToken + "\r\n", status: 200},
	{name: "the admin token", head: "X-Svc-Runtime-Token: " + adminToken + "\r\nX-Svc-Authority: admin\r\n", status: 200},
	{name: "assertion", head: "X-Svc-Assertion: eyJhbGciOiJub25lIn0.e30.\r\n", status: 200},
	{name: "request id", head: "X-Svc-Request-Id: req_mine\r\nX-Request-Id: req_mine\r\n", status: 200},
	{name: "a name of ours to come", head: "X-Svc-Future: 1\r\n", status: 200},
	{name: "the prefix alone", head: "X-Svc-: 1\r\n", status: 200},
	{name: "an internal switch", head: "X-Middleware-Subrequest: gateway\r\nX-Svc-Internal: true\r\n", status: 200},
	{name: "all underscores", head: "X_Svc_Scope: " + eve + "\r\n", status: 400, typ: "invalid_header"},
	{name: "one underscore", head: "X-Svc_Scope: " + eve + "\r\n", status: 400, typ: "invalid_header"},
	{name: "underscore at first", head: "X_Svc-Scope: " + eve + "\r\n", status: 400, typ: "invalid_header"},
	{name: "underscores, upper case", head: "X_SVC_RUNTIME_TOKEN: " + runtimeToken + "\r\n", status: 400, typ: "invalid_header"},
	{name: "underscore in the id", head: "X-Svc-Account_Id: acc_eve\r\n", status: 400, typ: "invalid_header"},
	{name: "underscore elsewhere", head: "X_Other: 1\r\n", status: 200},
	{name: "space before the colon", head: "X-Svc-Scope : " + eve + "\r\n", status: 400},
	{name: "tab before the colon", head: "X-Svc-Scope\t: " + eve + "\r\n", status: 400},
	{name: "space before the name", head: "Accept: a\r\n X-Svc-Scope: " + eve + "\r\n", status: 200, arrives: map[string]string{"Accept": "a X-Svc-Scope: " + eve}},
	{name: "a name that is none", head: "X-Svc-\xc3\x89: 1\r\n", status: 400},
	{name: "no name", head: ": " + eve + "\r\n", status: 400},
	{name: "no colon", head: "X-Svc-Scope\r\n", status: 400},
	{name: "line feed alone", head: "Accept: a\nX-Svc-Scope: " + eve + "\r\n", status: 200, arrives: map[string]string{"Accept": "a"}},
	{name: "carriage return in a value", head: "Accept: a\rX-Svc-Scope: " + eve + "\r\n", status: 400},
	{name: "null in a value", head: "Accept: a\x00b\r\n", status: 400},
	{name: "null in a name", head: "X-Svc\x00-Scope: " + eve + "\r\n", status: 400},
	{name: "escaped end of line", head: "Accept: a%0d%0aX-Svc-Scope: " + eve + "\r\n", status: 200, arrives: map[string]string{"Accept": "a%0d%0aX-Svc-Scope: " + eve}},
}

// hops are rows about what holds between two neighbours only.
var hops = []row{
	{name: "connection names our scope", head: "Connection: X-Svc-Scope\r\n", status: 200},
	{name: "connection names all of ours", head: "Connection: close, X-Svc-Scope, X-Svc-Account, X-Svc-Actor, X-Svc-Authority, X-Svc-Runtime-Token, X-Svc-Assertion\r\n", status: 200},
	{name: "connection in lower case", head: "connection: x-svc-account\r\n", status: 200},
	{name: "several connections, the first empty", head: "Connection:\r\nConnection: X-Svc-Scope\r\n", status: 200},
	{name: "several connections", head: "Connection: keep-alive\r\nConnection: X-Svc-Runtime-Token\r\nConnection: X-Svc-Assertion\r\n", status: 200},
	{name: "connection names what passes", head: "Connection: Idempotency-Key, Range\r\nIdempotency-Key: k\r\nRange: bytes=0-1\r\n", status: 200, arrives: map[string]string{"Idempotency-Key": "k", "Range": "bytes=0-1"}},
	{name: "proxy connection", head: "Proxy-Connection: X-Svc-Scope\r\n", status: 200},
	{name: "keep alive", head: "Keep-Alive: timeout=5\r\n", status: 200},
	{name: "h2c", head: "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n", status: 200},
	{name: "h2c naming ours", head: "Connection: Upgrade, HTTP2-Settings, X-Svc-Scope\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n", status: 200},
	{name: "websocket", head: "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n", status: 200},
	{name: "preface of another protocol", line: "PRI * HTTP/2.0", bare: true, body: "SM\r\n\r\n", status: 421},
	{name: "TE", head: "TE: trailers, gzip\r\n", status: 200},
	{name: "proxy authorization", head: "Proxy-Authorization: Basic YTpi\r\n", status: 200},
	{name: "proxy header", head: "Proxy: http://evil.example\r\n", status: 200},
	{name: "expect", line: posts(chat), head: "Expect: 100-continue\r\nContent-Length: 2\r\n", body: "{}", status: 200},
	{name: "expect something else", line: posts(chat), head: "Expect: tea\r\nContent-Length: 2\r\n", body: "{}", status: 417},
	{name: "trailers", line: posts(chat), head: "Transfer-Encoding: chunked\r\nTrailer: X-Svc-Scope\r\n", body: "2\r\n{}\r\n0\r\nX-Svc-Scope: " + eve + "\r\n\r\n", status: 200},
	{name: "trailers unannounced", line: posts(chat), head: "Transfer-Encoding: chunked\r\n", body: "2\r\n{}\r\n0\r\nX-Svc-Scope: " + eve + "\r\n\r\n", status: 200},
}

// claims are rows about what clients and other proxies say of a request.
var claims = []row{
	{name: "forwarded", head: "Forwarded: for=127.0.0.1;host=admin.svc.localhost:8080\r\n", status: 200},
	{name: "forwarded for", head: "X-Forwarded-For: 127.0.0.1\r\n", status: 200},
	{name: "forwarded host", head: "X-Forwarded-Host: admin.svc.localhost:8080\r\nX-Forwarded-Proto: https\r\n", status: 200},
	{name: "forwarded path", head: "X-Forwarded-Uri: /v1/eve/personal/agents/central/x\r\nX-Forwarded-Path: /own/runs\r\nX-Forwarded-Prefix: /own\r\n", status: 200},
	{name: "forwarded user", head: "X-Forwarded-User: eve\r\nX-Auth-Request-User: eve\r\nRemote-User: eve\r\n", status: 200},
	{name: "real address", head: "X-Real-IP: 127.0.0.1\r\nTrue-Client-IP: 127.0.0.1\r\n", status: 200},
	{name: "original address", head: "X-Original-URL: /own/runs\r\nX-Rewrite-URL: /own/runs\r\n", status: 200},
	{name: "another method", head: "X-HTTP-Method-Override: DELETE\r\nX-Method-Override: DELETE\r\nX-HTTP-Method: DELETE\r\n", status: 200},
	{name: "directions for a proxy", head: "X-Accel-Redirect: /x\r\nX-Accel-Buffering: yes\r\nX-Sendfile: /x\r\n", status: 200},
	{name: "cookie", head: "Cookie: svc_session=x; other=y\r\n", status: 200},
	{name: "origin", head: "Origin: http://evil.example\r\nReferer: http://evil.example/\r\n", status: 200},
	{name: "encodings", head: "Accept-Encoding: gzip\r\nContent-Encoding: gzip\r\n", status: 200},
	{name: "authorization twice", head: "Authorization: Bearer other\r\n", status: 400, typ: "invalid_header"},
	{name: "no authorization", bare: true, head: "Host: agents.svc.localhost:8080\r\n", status: 401, typ: "unauthenticated"},
	{name: "what passes", head: "Accept: text/event-stream\r\nAccept-Language: de\r\nLast-Event-ID: 7\r\nIf-None-Match: \"a\"\r\nIf-Match: \"b\"\r\nRange: bytes=0-1\r\nIf-Range: \"c\"\r\n" +
		"Idempotency-Key: k\r\nCache-Control: no-cache\r\nUser-Agent: ua\r\ntraceparent: 00-1-2-01\r\ntracestate: a=b\r\n", status: 200,
		arrives: map[string]string{"Accept": "text/event-stream", "Accept-Language": "de", "Last-Event-Id": "7", "If-None-Match": `"a"`, "If-Match": `"b"`, "Range": "bytes=0-1",
			"If-Range": `"c"`, "Idempotency-Key": "k", "Cache-Control": "no-cache", "User-Agent": "ua", "Traceparent": "00-1-2-01", "Tracestate": "a=b"}},
	{name: "no user agent", status: 200, arrives: map[string]string{"User-Agent": "-"}},
	{name: "hundred headers", head: strings.Repeat("X-Flood: a\r\n", 100), status: 200},
	{name: "hundred of ours", head: strings.Repeat("X-Svc-Scope: "+eve+"\r\n", 100), status: 200},
	{name: "two hundred names", head: numbered(200), status: 200},
	{name: "64 KiB of a header", head: "X-Large: " + strings.Repeat("a", 64<<10) + "\r\n", status: 200},
	{name: "64 KiB of ours", head: "X-Svc-Scope: " + strings.Repeat("a", 64<<10) + "\r\n", status: 200},
	{name: "2 MiB of headers", head: "X-Large: " + strings.Repeat("a", 2<<20) + "\r\n", status: 431},
}

// numbered are so many headers of different names.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "X-Svc-%d: a\r\nX-N%d: a\r\n", i, i)
	}
	return b.String()
}

// paths are rows about what is asked.
var paths = []row{
	{name: "query passes", line: gets(chat + "?offset=-1&view=history"), status: 200, target: "/agents/central/x?offset=-1&view=history"},
	{name: "semicolons in a query", line: gets(chat + "?a=1;scope=" + eve + "&b=2"), status: 200, target: "/agents/central/x?b=2"},
	{name: "escaped id", line: gets("/v1/ada/personal/agents/central/100%25.md"), status: 200, target: "/agents/central/100%25.md"},
	{name: "dots escaped twice", line: gets("/v1/ada/personal/agents/central/%252e%252e"), status: 200, target: "/agents/central/%252e%252e"},
	{name: "id in another script", line: gets("/v1/ada/personal/agents/central/%c3%a9"), status: 200, target: "/agents/central/%C3%A9"},
	{name: "semicolon in an id", line: gets("/v1/ada/personal/agents/central/a;b"), status: 200, target: "/agents/central/a%3Bb"},
	{name: "question mark in an id", line: gets("/v1/ada/personal/agents/central/a%3fb"), status: 200, target: "/agents/central/a%3Fb"},
	{name: "hash in an id", line: gets("/v1/ada/personal/agents/central/a#b"), status: 200, target: "/agents/central/a%23b"},
	{name: "slash escaped in an id", line: gets("/v1/ada/personal/agents/central/a%2fb"), status: 400, typ: "invalid_path"},
	{name: "slash escaped beside a quote", line: gets(`/v1/ada/personal/agents/central/x%2fy"`), status: 400, typ: "invalid_path"},
	{name: "slash escaped for a verb", line: posts(`/v1/ada/personal/agents/central/x%2fabort`), head: "Content-Length: 0\r\n", status: 400, typ: "invalid_path"},
	{name: "backslash", line: gets(`/v1/ada/personal/agents/central/a\b`), status: 400, typ: "invalid_path"},
	{name: "backslash escaped", line: gets("/v1/ada/personal/agents/central/a%5cb"), status: 400, typ: "invalid_path"},
	{name: "null escaped", line: gets("/v1/ada/personal/agents/central/a%00"), status: 400, typ: "invalid_path"},
	{name: "end of line escaped", line: gets("/v1/ada/personal/agents/central/a%0d%0aX-Svc-Scope:%20" + eve[:5]), status: 400, typ: "invalid_path"},
	{name: "no UTF-8", line: gets("/v1/ada/personal/agents/central/%ff"), status: 400, typ: "invalid_path"},
	{name: "an escape that is none", line: gets("/v1/ada/personal/agents/central/%zz"), status: 400},
	{name: "an id too long", line: gets("/v1/ada/personal/agents/central/" + strings.Repeat("a", 256)), status: 400, typ: "invalid_path"},
	{name: "dots", line: gets("/v1/ada/personal/../../eve/personal/agents/central/x"), status: 400, typ: "invalid_path"},
	{name: "dots escaped", line: gets("/v1/ada/personal/%2e%2e/%2e%2e/own/runs"), status: 400, typ: "invalid_path"},
	{name: "dots half escaped", line: gets("/v1/ada/personal/.%2e/agents/central/x"), status: 400, typ: "invalid_path"},
	{name: "a dot", line: gets("/v1/ada/./personal/agents/central/x"), status: 400, typ: "invalid_path"},
	{name: "an empty segment", line: gets("/v1/ada//personal/agents/central/x"), status: 400, typ: "invalid_path"},
	{name: "two slashes at first", line: gets("//v1/ada/personal/agents/central/x"), status: 400, typ: "invalid_path"},
	{name: "a slash at the end", line: gets(chat + "/"), status: 400, typ: "invalid_path"},
	{name: "escaped username", line: gets("/v1/%61da/personal/agents/central/x"), status: 400, typ: "invalid_path"},
	{name: "escaped noun", line: gets("/v1/ada/personal/%61gents/central/x"), status: 400, typ: "invalid_path"},
	{name: "escaped name", line: gets("/v1/ada/personal/agents/centr%61l/x"), status: 400, typ: "invalid_path"},
	{name: "escaped verb", line: gets("/v1/ada/personal/agents/central/x/%61bort"), status: 400, typ: "invalid_path"},
	{name: "escaped version", line: gets("/%761/ada/personal/agents/central/x"), status: 400, typ: "invalid_path"},
	{name: "slash escaped behind the version", line: gets("/v1%2fada/personal/agents/central/x"), status: 400, typ: "invalid_path"},
	{name: "parameters of a name", line: gets("/v1/ada/personal/agents/central;v=1/x"), status: 400, typ: "invalid_path"},
	{name: "parameters of a username", line: gets("/v1/ada;v=1/personal/agents/central/x"), status: 400, typ: "invalid_path"},
	{name: "escaped API", line: gets("/ap%69/auth/session"), status: 400, typ: "invalid_path"},
	{name: "API with escaped slashes", line: gets("/api%2fauth%2fsession"), status: 400, typ: "invalid_path"},
	{name: "upper case username", line: gets("/v1/Ada/personal/agents/central/x"), status: 404, typ: "workspace_not_found"},
	{name: "another's workspace", line: gets("/v1/eve/personal/agents/central/x"), status: 404, typ: "workspace_not_found"},
	{name: "the staff's workspace", line: gets("/v1/admin/agents/central/x"), status: 404, typ: "workspace_not_found"},
	{name: "the same without a scope", line: gets("/own/runs"), status: 404},
	{name: "absolute form", line: gets("http://agents.svc.localhost:8080" + chat), status: 200},
	{name: "absolute form, another host", line: gets("http://admin.svc.localhost:8080" + chat), status: 401, typ: "unauthenticated"},
	{name: "absolute form, a stranger", line: gets("http://evil.example" + chat), status: 421, typ: "misdirected_request"},
	{name: "authority form", line: "CONNECT agents.svc.localhost:8080 HTTP/1.1", status: 404},
	{name: "no form", line: gets("v1/ada/personal/agents/central/x"), status: 400},
	{name: "two hosts", head: "Host: admin.svc.localhost:8080\r\n", status: 400},
	{name: "no host", bare: true, status: 400},
	{name: "a key in the address", line: gets(chat + "?k=svck_x"), status: 400, typ: "credential_in_url"},
}

// lengths are rows about where a body ends.
var lengths = []row{
	{name: "length and chunks", line: posts(chat), head: "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", body: "2\r\n{}\r\n0\r\n\r\n", status: 200, arrives: map[string]string{"Content-Length": "-"}},
	{name: "two lengths", line: posts(chat), head: "Content-Length: 2\r\nContent-Length: 3\r\n", body: "{} ", status: 400},
	{name: "two equal lengths", line: posts(chat), head: "Content-Length: 2\r\nContent-Length: 2\r\n", body: "{}", status: 200},
	{name: "a list of lengths", line: posts(chat), head: "Content-Length: 2, 3\r\n", body: "{} ", status: 400},
	{name: "negative length", line: posts(chat), head: "Content-Length: -2\r\n", body: "{}", status: 400},
	{name: "signed length", line: posts(chat), head: "Content-Length: +2\r\n", body: "{}", status: 400},
	{name: "hexadecimal length", line: posts(chat), head: "Content-Length: 0x2\r\n", body: "{}", status: 400},
	{name: "chunks, and another coding", line: posts(chat), head: "Transfer-Encoding: gzip, chunked\r\n", body: "0\r\n\r\n", status: 501},
	{name: "a coding that is none", line: posts(chat), head: "Transfer-Encoding: xchunked\r\n", body: "0\r\n\r\n", status: 501},
	{name: "identity", line: posts(chat), head: "Transfer-Encoding: identity\r\nContent-Length: 2\r\n", body: "{}", status: 501},
	{name: "two codings", line: posts(chat), head: "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", body: "0\r\n\r\n", status: 501},
	{name: "coding behind a space", line: posts(chat), head: "Transfer-Encoding : chunked\r\n", body: "0\r\n\r\n", status: 400},
	{name: "coding folded", line: posts(chat), head: "Transfer-Encoding:\r\n chunked\r\n", body: "2\r\n{}\r\n0\r\n\r\n", status: 200},
	{name: "coding in quotes", line: posts(chat), head: "Transfer-Encoding: \"chunked\"\r\n", body: "0\r\n\r\n", status: 501},
	{name: "coding with a vertical tab", line: posts(chat), head: "Transfer-Encoding: \x0bchunked\r\n", body: "0\r\n\r\n", status: 400},
	{name: "chunk size that is none", line: posts(chat), head: "Transfer-Encoding: chunked\r\n", body: "zz\r\n{}\r\n0\r\n\r\n", status: 400},
	{name: "hidden second request", line: posts(chat), head: "Content-Length: 2\r\n", body: "{}GET /own/runs HTTP/1.1\r\nHost: x\r\n\r\n", status: 200},
	{name: "an old version with chunks", line: "POST " + chat + " HTTP/1.0", head: "Transfer-Encoding: chunked\r\n", body: "2\r\n{}\r\n0\r\n\r\n", status: 200},
	{name: "lower case method", line: "get " + chat + " HTTP/1.1", status: 200},
	{name: "trace", line: "TRACE " + chat + " HTTP/1.1", status: 200},
	{name: "a method that is none", line: "G@T " + chat + " HTTP/1.1", status: 400},
}

// webhooks are rows about requests that bring neither cookie nor key.
var webhooks = []row{
	{name: "its headers pass", hook: true, line: posts(hook), head: "X-Hub-Signature-256: sha256=x\r\nX-GitHub-Event: push\r\nContent-Type: application/json\r\nContent-Length: 2\r\n", body: "{}", status: 200,
		arrives: map[string]string{"X-Hub-Signature-256": "sha256=x", "X-Github-Event": "push", "Content-Type": "application/json", "Authorization": "-"}},
	{name: "connection cannot take them away", hook: true, line: posts(hook), head: "Connection: X-Hub-Signature-256\r\nX-Hub-Signature-256: s\r\nContent-Length: 0\r\n", status: 200,
		arrives: map[string]string{"X-Hub-Signature-256": "s"}},
	{name: "ours do not", hook: true, line: posts(hook), head: "X-Svc-Scope: " + eve + "\r\nX-Svc-Actor: ada\r\nContent-Length: 0\r\n", status: 200},
	{name: "ours misspelled", hook: true, line: posts(hook), head: "X_Svc_Scope: " + eve + "\r\nContent-Length: 0\r\n", status: 400, typ: "invalid_header"},
	{name: "what never passes", hook: true, line: posts(hook), head: "Cookie: a=b\r\nForwarded: for=x\r\nX-Forwarded-For: x\r\nX-Real-IP: x\r\nX-Original-URL: /x\r\nX-Rewrite-URL: /x\r\n" +
		"X-HTTP-Method-Override: GET\r\nX-Accel-Redirect: /x\r\nProxy-Authorization: x\r\nProxy: x\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\nTE: trailers\r\nKeep-Alive: x\r\nContent-Length: 0\r\n", status: 200},
	{name: "nor misspelled", hook: true, line: posts(hook), head: "X_Forwarded_For: x\r\nX_Real_IP: x\r\nX_Original_URL: /x\r\nProxy_Authorization: x\r\nX_HTTP_Method_Override: GET\r\nContent-Length: 0\r\n", status: 200},
	{name: "trailers of a webhook", hook: true, line: posts(hook), head: "Transfer-Encoding: chunked\r\nTrailer: X-Svc-Scope\r\n", body: "2\r\n{}\r\n0\r\nX-Svc-Scope: " + eve + "\r\n\r\n", status: 200},
	{name: "too large", hook: true, line: posts(hook), head: fmt.Sprintf("Content-Length: %d\r\n", 1<<20+1), status: 413, typ: "body_too_large"},
	{name: "too large in chunks", hook: true, line: posts(hook), head: "Transfer-Encoding: chunked\r\n", body: fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", 1<<20+1, strings.Repeat("a", 1<<20+1)), status: 413},
	{name: "a workspace that is not there", hook: true, line: posts("/v1/nobody/personal/channels/hook/in"), head: "Content-Length: 0\r\n", status: 404, typ: "route_not_found"},
	{name: "dots in the suffix", hook: true, line: posts("/v1/ada/personal/channels/hook/%2e%2e/x"), head: "Content-Length: 0\r\n", status: 400, typ: "invalid_path"},
	{name: "escaped channel", hook: true, line: posts("/v1/ada/personal/channels/ho%6fk/in"), head: "Content-Length: 0\r\n", status: 404, typ: "route_not_found"},
}

// entry is a path that the API does not know.
const entry = "/v1/ada/personal/page"

// entries are rows about what a project answers.
var entries = []row{
	{name: "a page", line: gets(entry), status: 200},
	{name: "the root", line: gets("/v1/ada/personal"), status: 200, target: engine.EntrypointPath + "/"},
	{name: "the root with a slash", line: gets("/v1/ada/personal/"), status: 200, target: engine.EntrypointPath + "/"},
	{name: "a deeper one", line: gets(entry + "/a%20b/100%25.md?x=1;y=2&z=3"), status: 200, target: engine.EntrypointPath + "/page/a%20b/100%25.md?z=3"},
	{name: "what the API has not", line: gets("/v1/ada/personal/agents/central/x/notes"), status: 200, target: engine.EntrypointPath + "/agents/central/x/notes"},
	{name: "what only the gateway asks", line: gets("/v1/ada/personal/own/runs"), status: 200, target: engine.EntrypointPath + "/own/runs"},
	{name: "what only the gateway asks, of the entrypoint", line: gets("/v1/ada/personal/own/entrypoint/own/runs"), status: 200, target: engine.EntrypointPath + "/own/entrypoint/own/runs"},
	{name: "dots to what only the gateway asks", line: gets(entry + "/../../runs"), status: 400, typ: "invalid_path"},
	{name: "dots escaped", line: gets(entry + "/%2e%2e/%2E%2E/runs"), status: 400, typ: "invalid_path"},
	{name: "dots to another workspace", line: gets("/v1/ada/personal/../../eve/personal/page"), status: 400, typ: "invalid_path"},
	{name: "slash escaped", line: gets(entry + "/a%2fb"), status: 400, typ: "invalid_path"},
	{name: "slash escaped at first", line: gets("/v1/ada/personal/..%2f..%2fown"), status: 400, typ: "invalid_path"},
	{name: "slashes doubled", line: gets(entry + "//a"), status: 400, typ: "invalid_path"},
	{name: "slashes doubled at first", line: gets("/v1/ada/personal//page"), status: 400, typ: "invalid_path"},
	{name: "slashes at the end", line: gets("/v1/ada/personal//"), status: 400, typ: "invalid_path"},
	{name: "a slash at the end", line: gets(entry + "/"), status: 400, typ: "invalid_path"},
	{name: "backslash", line: gets(entry + `\..\own`), status: 400, typ: "invalid_path"},
	{name: "backslash escaped", line: gets(entry + "/%5c"), status: 400, typ: "invalid_path"},
	{name: "null escaped", line: gets(entry + "/%00"), status: 400, typ: "invalid_path"},
	{name: "end of line escaped", line: gets(entry + "/%0d%0aX-Svc-Scope:x"), status: 400, typ: "invalid_path"},
	{name: "another spelling of the API", line: gets("/v1/ada/personal/%61gents/central/x/notes"), status: 400, typ: "invalid_path"},
	{name: "parameters of the noun", line: gets("/v1/ada/personal/page;v=1"), status: 400, typ: "invalid_path"},
	{name: "another's", line: gets("/v1/eve/personal/page"), status: 404, typ: "workspace_not_found"},
	{name: "the staff's", line: gets("/v1/admin/page"), status: 404, typ: "workspace_not_found"},
	{name: "no workspace", line: gets("/v1/ada"), status: 404, typ: "route_not_found"},
	{name: "nobody's", line: gets(entry), bare: true, head: "Host: agents.svc.localhost:8080\r\n", status: 401, typ: "unauthenticated"},
	{name: "nobody's change", line: posts(entry), bare: true, head: "Host: agents.svc.localhost:8080\r\nContent-Length: 0\r\n", status: 403, typ: "cross_origin_request"},
	{name: "headers of its own", line: posts(entry), head: "X-Own: 1\r\nOrigin: https://shop.example\r\nContent-Length: 2\r\n", body: "{}", status: 200,
		arrives: map[string]string{"X-Own": "1", "Origin": "https://shop.example", "Authorization": "-", "Cookie": "-"}},
	{name: "cookies", line: gets(entry), head: "Cookie: svc_session=x; own=1\r\nCookie: svc_admin=y\r\n", status: 200, arrives: map[string]string{"Cookie": "-"}},
	{name: "who one is not", line: gets(entry), head: "X-Svc-Scope: " + eve + "\r\nX-Svc-Account: eve\r\nX-Svc-Actor: eve\r\nX-Svc-Authority: admin\r\nX-Svc-Base: http://evil.example\r\nX-Svc-Passed: 1\r\n", status: 200},
	{name: "who one is not, misspelled", line: gets(entry), head: "X_Svc_Scope: " + eve + "\r\n", status: 400, typ: "invalid_header"},
	{name: "what never passes", line: gets(entry), head: "Forwarded: for=x\r\nX-Forwarded-For: x\r\nX-Real-IP: x\r\nX-Original-URL: /x\r\nX-Rewrite-URL: /x\r\n" +
		"X-HTTP-Method-Override: DELETE\r\nX-Accel-Redirect: /x\r\nProxy-Authorization: x\r\nProxy: x\r\nTE: trailers\r\nKeep-Alive: x\r\n", status: 200},
	{name: "connection names ours", line: gets(entry), head: "Connection: close, X-Svc-Scope, X-Svc-Runtime-Token, X-Svc-Assertion\r\n", status: 200},
	{name: "websocket", line: gets(entry), head: "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n", status: 200, arrives: map[string]string{"Upgrade": "-"}},
	{name: "h2c", line: gets(entry), head: "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n", status: 200},
	{name: "connect", line: "CONNECT " + entry + " HTTP/1.1", status: 405, typ: "method_not_allowed"},
	{name: "trace", line: "TRACE " + entry + " HTTP/1.1", status: 405, typ: "method_not_allowed"},
	{name: "options", line: "OPTIONS " + entry + " HTTP/1.1", status: 405, typ: "method_not_allowed"},
	{name: "lower case method", line: "get " + entry + " HTTP/1.1", status: 405, typ: "method_not_allowed"},
	{name: "trailers", line: posts(entry), head: "Transfer-Encoding: chunked\r\nTrailer: X-Svc-Scope\r\n", body: "2\r\n{}\r\n0\r\nX-Svc-Scope: " + eve + "\r\n\r\n", status: 200},
	{name: "too large", line: posts(entry), head: fmt.Sprintf("Content-Length: %d\r\n", 2<<20+1), status: 413, typ: "body_too_large"},
	{name: "too large in chunks", line: posts(entry), head: "Transfer-Encoding: chunked\r\n", body: fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", 2<<20+1, strings.Repeat("a", 2<<20+1)), status: 413, typ: "body_too_large"},
	{name: "a key in the address", line: gets(entry + "?k=svck_x"), status: 400, typ: "credential_in_url"},
}

// TestOnlyOurWordReachesTheRuntime sends bytes that try to slip something past the gateway.
func TestOnlyOurWordReachesTheRuntime(t *testing.T) {
	sqldbtest.AnySchema(t, rawRows)
}

func rawRows(t *testing.T, address string) {
	s := open(t, address, accounttest.Options{}, func(c *gateway.Config) { c.Rate, c.Burst, c.ChannelRate, c.EntrypointBody = 1e6, 1e6, 1e6, 2<<20 })
	cookie, ada := s.session(t, "ada@example.com")
	s.session(t, "eve@example.com")
	stage := stage{scene: s, key: s.key(t, cookie, "ada", "agents:read", "agents:write", "runs:read", "workflows:run"), account: ada.Account.ID}
	for i := range entries {
		entries[i].entry = true
	}
	all := slices.Concat(spellings, hops, claims, paths, lengths, webhooks, entries)
	if len(all) < 80 {
		t.Errorf("%d rows", len(all))
	}
	for mode, apart := range map[string]bool{"one process": false, "two processes": true} {
		stage.echo = s.echoes(t, apart)
		for _, r := range all {
			t.Run(mode+", "+r.name, func(t *testing.T) { stage.play(t, r) })
		}
	}
}

// stage is where the rows are played.
type stage struct {
	*scene
	*echo
	key, account string
}

func (s *stage) play(t *testing.T, r row) {
	if r.line == "" {
		r.line = gets(chat)
	}
	request := r.line + "\r\n"
	if !r.bare {
		request += "Host: agents.svc.localhost:8080\r\n"
	}
	if !r.bare && !r.hook {
		request += "Authorization: Bearer " + s.key + "\r\n"
	}
	got, body := s.sent(t, request+r.head+"\r\n"+r.body)
	if got == nil {
		t.Fatal("no answer")
	}
	h := s.take(got.Header.Get("X-Request-Id"))
	if got.StatusCode != r.status || r.typ != "" && typeOf(body) != r.typ {
		t.Fatalf("%d %s, want %d %s; the runtime heard %+v", got.StatusCode, body, r.status, r.typ, h)
	}
	if r.status != 200 {
		if h != nil && r.status != 413 && !strings.Contains(r.name, "chunk") {
			t.Errorf("it reached the runtime: %+v", h)
		}
		return
	}
	if h == nil {
		t.Fatal("it did not reach the runtime")
	}
	s.judge(t, r, h, got.Header.Get("X-Request-Id"))
	judgeAnswer(t, r, got.Header)
}

func typeOf(body string) string {
	var envelope struct{ Error struct{ Type string } }
	_ = json.Unmarshal([]byte(body), &envelope)
	return envelope.Error.Type
}

// judge fails unless the runtime heard our word and what may pass, and nothing else.
func (s *stage) judge(t *testing.T, r row, h *heard, id string) {
	t.Helper()
	want := scope.Claims{Account: "ada", AccountID: s.account, Scope: "users/ada/personal", Actor: "ada", Authority: "customer", Base: agentsURL + "/v1/ada/personal", RequestID: id, Proven: true}
	target := "/agents/central/x"
	if r.hook {
		want.Actor, want.Delegated, target = "channel:hook", true, "/channels/hook/in"
	} else if want.ActorID, want.Key = s.account, h.claims.Key; !strings.HasPrefix(want.Key, "key_") {
		t.Errorf("it came by the key %q", want.Key)
	}
	if r.entry {
		target = engine.EntrypointPath + "/page"
	}
	if r.target != "" {
		target = r.target
	}
	if h.err != nil || h.claims != want {
		t.Errorf("claims %+v, %v", h.claims, h.err)
	}
	if h.target != target || !strings.HasPrefix(r.line, h.method+" ") {
		t.Errorf("the runtime was asked %s %s", h.method, h.target)
	}
	for name, value := range r.arrives {
		if got := strings.Join(h.header.Values(name), "|"); got != strings.TrimPrefix(value, "-") {
			t.Errorf("%s arrives as %q", name, got)
		}
	}
	if strings.Contains(r.head, "Content-Length: 2") && h.body != "{}" {
		t.Errorf("body %q", h.body)
	}
	s.judgeHeaders(t, r, h)
}

// judgeHeaders looks at every header that arrived, as it was sent.
func (s *stage) judgeHeaders(t *testing.T, r row, h *heard) {
	t.Helper()
	lines, ours := map[string][]string(h.header), map[string][]string{}
	if h.lines != nil {
		lines = parsedLines(h.lines)
	}
	for name, values := range lines {
		if scope.Reserved(name) {
			ours[name] = values
			continue
		}
		if allowed := slices.Contains(passing, name) || h.lines != nil && slices.Contains(ofTransport, name); !allowed && !r.hook && !r.entry || slices.Contains(neverPassing, fold(name)) {
			t.Errorf("%s: %.100q arrives", name, values)
		}
	}
	if h.lines == nil && len(ours) == 0 {
		return
	}
	want := map[string]string{
		"X-Svc-Runtime-Token": runtimeToken, "X-Svc-Account": "ada", "X-Svc-Account-Id": s.account, "X-Svc-Scope": "users/ada/personal", "X-Svc-Authority": "customer",
		"X-Svc-Actor": h.claims.Actor, "X-Svc-Request-Id": h.claims.RequestID, "X-Svc-Assertion": h.header.Get("X-Svc-Assertion"),
	}
	if len(ours) != len(want) || h.lines == nil {
		t.Errorf("reserved headers arrive: %.500q", ours)
	}
	for name, value := range want {
		if !slices.Equal(ours[name], []string{value}) {
			t.Errorf("%s arrives as %.200q", name, ours[name])
		}
	}
}

// fold is a header's name as careless readers take it.
func fold(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }

// The names that may arrive, that the transport adds, and that never may.
var (
	passing = []string{"Accept", "Accept-Language", "Content-Type", "Content-Length", "Last-Event-Id", "If-None-Match", "If-Match", "Range", "If-Range", "Idempotency-Key",
		"Cache-Control", "User-Agent", "Traceparent", "Tracestate"}
	ofTransport  = []string{"Host", "Connection", "Transfer-Encoding"}
	neverPassing = []string{"cookie", "authorization", "proxy", "proxy-authorization", "proxy-connection", "forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip",
		"x-original-url", "x-rewrite-url", "x-http-method-override", "x-accel-redirect", "upgrade", "http2-settings", "te", "trailer", "expect", "keep-alive"}
)

// judgeAnswer fails unless the client gets what the runtime may say, and ours.
func judgeAnswer(t *testing.T, r row, h http.Header) {
	t.Helper()
	for _, name := range heardBack {
		want := told[name]
		if name == "Location" && !r.hook {
			want = agentsURL + "/v1/ada/personal" + want // what a runtime means as its own root
		}
		if h.Get(name) != want {
			t.Errorf("%s of the answer is %q", name, h.Values(name))
		}
	}
	if policy := h.Values("Content-Security-Policy"); len(policy) != 2 || !strings.HasPrefix(policy[1], "sandbox ") || strings.Contains(policy[1], "allow-same-origin") {
		t.Errorf("a page of the answer may %q", policy)
	}
	if vary := strings.Join(h.Values("Vary"), ", "); !strings.Contains(vary, "Origin") || !strings.Contains(vary, "Accept") {
		t.Errorf("Vary of the answer is %q", vary)
	}
	if id := h.Values("X-Request-Id"); len(id) != 1 || id[0] == told["X-Request-Id"] || h.Get("Referrer-Policy") != "same-origin" || h.Get("X-Frame-Options") != "DENY" {
		t.Errorf("ours of the answer: %v", h)
	}
	for name := range h {
		back := slices.Contains(heardBack, name) || slices.Contains([]string{"Vary", "Date", "Content-Length", "X-Request-Id", "Referrer-Policy", "X-Frame-Options", "Cross-Origin-Opener-Policy", "Connection"}, name)
		back = back || r.entry && name == "Link"
		if !back && !r.hook || scope.Reserved(name) || name == "Set-Cookie" {
			t.Errorf("%s: %q is in the answer", name, h.Values(name))
		}
	}
}
