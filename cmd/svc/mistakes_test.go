package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc.dev/svc/internal/command"
	"svc.dev/svc/service/config"
)

// mistake is one that operators make when they start svc.
type mistake struct {
	made string
	// scene sets the mistake up in the folder in which svc is run. Defaults to nothing.
	scene func(t *testing.T, folder string)
	env   []string
	args  []string // PORT is one that somebody listens on
	code  int
	says  []string // all of it in what is printed
}

// mistakes are all that we know of. A new one is a row.
var mistakes = []mistake{
	// What was typed.
	{made: "a command that is not there", args: args("serv"), code: 2, says: []string{`there is no command "serv": is serve meant?`}},
	{made: "a command that is not there, below another", args: args("admin creat"), code: 2, says: []string{`there is no command "admin creat": is create meant?`}},
	{made: "a flag that is not there", args: args("serve --lisen :1"), code: 2, says: []string{"unknown flag: --lisen: is --listen meant?"}},
	{made: "an argument too many", args: args("serve extra"), code: 2, says: []string{`"extra" is not expected after "svc serve"`}},
	{made: "a number that is none", args: args("serve --workers many"), code: 2, says: []string{"flag --workers: workers: ", "is not a whole number above 0"}},

	// What the environment says.
	{made: "a variable that is not known", env: []string{"SVC_LISEN=:1"}, args: args("serve --listen 127.0.0.1:PORT"), code: 1,
		says: []string{"SVC_LISEN is not known, and is not used: is SVC_LISTEN meant?"}},
	{made: "a duration without a unit", env: []string{"SVC_SESSION_IDLE=7"}, args: args("serve"), code: 2, says: []string{`environment SVC_SESSION_IDLE: session.idle: "7" is not a duration above 0, like 30s`}},
	{made: "a size in other units", env: []string{"SVC_LIMIT_BODY=64MB"}, args: args("serve"), code: 2, says: []string{"environment SVC_LIMIT_BODY: limits.body: ", "like 512KiB, 64MiB"}},
	{made: "an address for a network", env: []string{"SVC_TRUSTED_PROXIES=10.0.0.0"}, args: args("serve"), code: 2, says: []string{"trusted_proxies: ", "or 192.0.2.1/32 for one address"}},
	{made: "a secret twice", env: []string{"SVC_SMTP_URL=smtp://h", "SVC_SMTP_URL_FILE=f"}, args: args("serve"), code: 2, says: []string{"both SVC_SMTP_URL and SVC_SMTP_URL_FILE are set"}},
	{made: "a secret's file that is not there", env: []string{"SVC_SMTP_URL_FILE=none"}, args: args("serve"), code: 2, says: []string{"environment SVC_SMTP_URL_FILE: open none: no such file"}},
	{made: "a secret's file that is empty", scene: file("empty", ""), env: []string{"SVC_SMTP_URL_FILE=empty"}, args: args("serve"), code: 2, says: []string{"SVC_SMTP_URL_FILE: empty is empty"}},
	{made: "a token that is short", env: []string{"SVC_SETUP_TOKEN=hunter2"}, args: args("serve"), code: 2, says: []string{"it has 7 bytes and needs 32 or more"}},

	// What the file says.
	{made: "a key that is not known", scene: file("svc.toml", "lissen = \":1\""), args: args("serve --config svc.toml"), code: 2, says: []string{`svc.toml: key "lissen" is not known: is listen meant?`}},
	{made: "a file that is not TOML", scene: file("svc.toml", "listen = :1"), args: args("serve --config svc.toml"), code: 2, says: []string{"svc.toml: line 1 is not TOML"}},
	{made: "a file that is not there", args: args("serve --config none.toml"), code: 2, says: []string{"configuration file: none.toml: open none.toml: no such file"}},

	// What does not go together.
	{made: "a path for a database", args: args("serve --database svc.db"), code: 2, says: []string{"the address has no known scheme: write sqlite:PATH for a file"}},
	{made: "production over http", env: []string{"SVC_PLATFORM_URL=https://svc.invalid"}, args: args("serve"), code: 2, says: []string{"is not https, which production needs", "cookie_domain: svc.invalid of url.platform does not lie below"}},
	{made: "two surfaces on one host", env: []string{"SVC_ADMIN_URL=http://svc.localhost"}, args: args("serve"), code: 2, says: []string{"url.admin: url.platform has the host svc.localhost too"}},
	{made: "mail without a sender", env: []string{"SVC_SMTP_URL=smtp://mail.invalid"}, args: args("serve"), code: 2, says: []string{"smtp.from: it is empty, and smtp.url is given"}},
	{made: "a model that is not there", env: []string{"SVC_MODEL_DEFAULT=words"}, args: args("serve"), code: 2, says: []string{"model.default: ", "write provider/model, such as scripted/words"}},
	{made: "a provider that is not there", env: []string{"SVC_MODEL_DEFAULT=none/words"}, args: args("serve"), code: 2, says: []string{`model.default: there is no model provider "none"`}},
	{made: "a model server of one's own that is not named", env: []string{"SVC_MODEL_OPENAI_URL=http://127.0.0.1:11434/v1"}, args: args("serve"), code: 2, says: []string{"model.openai.url: ", "name it in model.allow_private"}},
	{made: "a place that is none", env: []string{"SVC_MODEL_ALLOW_PRIVATE=localhost"}, args: args("serve"), code: 2, says: []string{`model.allow_private: "localhost" is neither host:port nor a network`}},
	{made: "an MCP server's place that is none", env: []string{"SVC_MCP_ALLOW_PRIVATE=localhost"}, args: args("serve"), code: 2, says: []string{`mcp.allow_private: "localhost" is neither host:port nor a network`}},
	{made: "bodies longer than what is held", env: []string{"SVC_LIMIT_BODY=1GiB"}, args: args("serve"), code: 2, says: []string{"limits.body: ", "raise limits.buffered"}},
	{made: "a gateway without its secrets", args: args("gateway"), code: 2, says: []string{"runtime.token: it is missing", "runtime.assertion_key: it is missing: svc keys assertion makes a pair"}},
	{made: "a runtime without its secrets", args: args("runtime"), code: 2, says: []string{"runtime.token: it is missing", "runtime.assertion_public: it is missing"}},

	// The addresses.
	{made: "a port that is taken", args: args("serve --listen 127.0.0.1:PORT"), code: 1, says: []string{"listen: 127.0.0.1:PORT is taken: stop what listens there, or choose another address with --listen or SVC_LISTEN"}},
	{made: "a port of operations that is taken", args: args("serve --ops-listen 127.0.0.1:PORT"), code: 1, says: []string{"ops_listen: 127.0.0.1:PORT is taken: ", "--ops-listen or SVC_OPS_LISTEN"}},
	{made: "an address of another machine", args: args("serve --listen 203.0.113.1:1"), code: 1, says: []string{"listen: 203.0.113.1:1 is no address of this machine"}},
	{made: "an address without a port", args: args("serve --listen localhost"), code: 1, says: []string{"listen: ", "missing port in address", "--listen or SVC_LISTEN"}},

	// The data folder.
	{made: "a folder that others may change", scene: folder(".svc", 0o777), args: args("serve"), code: 1, says: []string{"data folder: others may change ", "(mode 0777): chmod 700 "}},
	{made: "a folder that others may look into", scene: folder(".svc", 0o755), args: args("serve --listen 127.0.0.1:PORT"), code: 1, says: []string{"others can look into the data folder", "chmod 700 "}},
	{made: "a file for a folder", scene: file("data", ""), args: args("serve --data data"), code: 2, says: []string{"data folder data: it is no folder: choose another with --data"}},
	{made: "a folder that cannot be made", args: args("serve --data /proc/svc"), code: 1, says: []string{"data folder /proc/svc: ", "let this user write there, or choose another with --data"}},
	{made: "a database of two names", scene: linked, args: args("serve"), code: 1, says: []string{"svc.db has 2 names", "-samefile"}},
	{made: "a file that is no database", scene: file(".svc/svc.db", "no database, only a text that is long enough to be read as the head of one, and is none"), args: args("serve"), code: 1,
		says: []string{"file is not a database", "restore it from a backup"}},
	{made: "files in a file", scene: file("files", ""), args: args("serve --files files"), code: 1, says: []string{"files_dir: "}},
	{made: "a socket in a folder that is not there", args: args("serve --admin-socket none/admin.sock"), code: 1, says: []string{"admin_socket: "}},
	{made: "a key ring that others may read", scene: keyRing(0o644, "{}"), args: args("serve"), code: 1, says: []string{"keys.json has mode 0644, it must be for its owner alone", "chmod 600"}},
	{made: "a key ring that is none", scene: keyRing(0o600, "{}"), args: args("serve"), code: 1, says: []string{"keys.json: key ring is not of the form"}},

	// The database.
	{made: "a PostgreSQL that is not there", args: args("serve --database postgres://svc@127.0.0.1:1/svc"), code: 1, says: []string{"connection refused", "see that PostgreSQL listens there and lets this user in"}},

	// What doctor says of them.
	{made: "doctor: a wrong setting", env: []string{"SVC_SESSION_IDLE=7"}, args: args("doctor"), code: 2, says: []string{"fail  configuration      environment SVC_SESSION_IDLE", "ok    data folder"}},
	{made: "doctor: a variable that is not known", env: []string{"SVC_LISEN=:1"}, args: args("doctor"), code: 0, says: []string{"warn  environment        SVC_LISEN is not known, and is not used: is SVC_LISTEN meant?"}},
	{made: "doctor: a folder that others may change", scene: folder(".svc", 0o777), args: args("doctor"), code: 1, says: []string{"fail  data folder        .svc can be changed by others (mode 0777)", "mend: chmod 700 .svc"}},
	{made: "doctor: a port that is taken", args: args("doctor --listen 127.0.0.1:PORT"), code: 1, says: []string{"fail  listen             127.0.0.1:PORT is in use, and no server runs on the data folder .svc"}},
}

func args(line string) []string { return strings.Fields(line) }

func file(name, text string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		t.Helper()
		path := filepath.Join(folder, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

func folder(name string, mode os.FileMode) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		t.Helper()
		must(t, os.Mkdir(filepath.Join(folder, name), 0o700))
		must(t, os.Chmod(filepath.Join(folder, name), mode))
	}
}

func keyRing(mode os.FileMode, text string) func(*testing.T, string) {
	return func(t *testing.T, folder string) {
		t.Helper()
		file(".svc/keys.json", text)(t, folder)
		must(t, os.Chmod(filepath.Join(folder, ".svc", "keys.json"), mode))
	}
}

func linked(t *testing.T, folder string) {
	t.Helper()
	file(".svc/svc.db", "")(t, folder)
	must(t, os.Link(filepath.Join(folder, ".svc", "svc.db"), filepath.Join(folder, "link.db")))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEveryMistakeAtTheStartIsToldWithItsMend(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { taken.Close() })
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	for _, m := range mistakes {
		t.Run(m.made, func(t *testing.T) {
			t.Parallel()
			at := t.TempDir()
			if m.scene != nil {
				m.scene(t, at)
			}
			line := strings.Fields(strings.ReplaceAll(strings.Join(m.args, " "), "PORT", port))
			out, code := mistaken(t, at, m.env, elsewhere(line))
			if code != m.code {
				t.Errorf("exits with %d: %s", code, out)
			}
			for _, says := range m.says {
				if says = strings.ReplaceAll(says, "PORT", port); !strings.Contains(strings.ReplaceAll(out, `\"`, `"`), says) {
					t.Errorf("does not say %q: %s", says, out)
				}
			}
		})
	}
}

// elsewhere keeps a command off the ports that a developer's own service has.
func elsewhere(line []string) []string {
	ports := map[string]bool{"serve": true, "gateway": true, "doctor": true, "runtime": true}
	if !ports[line[0]] {
		return line
	}
	for _, flag := range []string{"--listen", "--ops-listen"} {
		if !slices.Contains(line, flag) && (line[0] != "runtime" || flag == "--ops-listen") {
			line = append(line, flag, "127.0.0.1:0")
		}
	}
	return line
}

// mistaken runs svc in a folder, with no setting but those given, and returns what it says and how it exits.
func mistaken(t *testing.T, at string, env, line []string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "svc", line...)
	cmd.Dir = at
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "SVC_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	out, _ := cmd.CombinedOutput() // the code says how it ended
	return string(out), cmd.ProcessState.ExitCode()
}

// TestAFolderThatCannotBeReadIsToldBySvcAndDoctor needs a user that is not root.
func TestAFolderThatCannotBeReadIsToldBySvcAndDoctor(t *testing.T) {
	at := t.TempDir()
	data := filepath.Join(at, "data")
	must(t, os.Mkdir(data, 0o700))
	for _, command := range []string{"serve", "doctor"} {
		cmd := exec.Command("svc", command, "--data", data, "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
		if os.Getuid() == 0 {
			asNobody(t, cmd, at)
		} else {
			must(t, os.Chmod(data, 0))
			defer os.Chmod(data, 0o700) //nolint:errcheck // for the test's own cleaning
		}
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 2 || !bytes.Contains(out, []byte("data folder "+data+": this user may not read it: run svc as the user whose it is")) {
			t.Errorf("%s: %d %s", command, code, out)
		}
		if command == "doctor" && !bytes.Contains(out, []byte("fail  data folder        open "+data+": permission denied")) {
			t.Errorf("doctor: %s", out)
		}
	}
}

// asNobody lets a command of this binary be run by a user who owns nothing.
func asNobody(t *testing.T, cmd *exec.Cmd, at string) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	for folder := at; folder != os.TempDir() && folder != "/"; folder = filepath.Dir(folder) {
		must(t, os.Chmod(folder, 0o755))
	}
	cmd.Path = filepath.Join(at, "svc")
	in, err := os.Open(self)
	must(t, err)
	defer in.Close()
	out, err := os.OpenFile(cmd.Path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, err)
	must(t, out.Close())
	cmd.Args[0], cmd.Dir = cmd.Path, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}

func TestDoctorKnowsAnothersAnswerOnOurPorts(t *testing.T) {
	other := launch(t, []string{"SVC_DATA_DIR=" + filepath.Join(t.TempDir(), "other")}, "serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	stranger, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"ready":true,"state":"serving"}`) })} //nolint:gosec // of a test
	go web.Serve(stranger)                                                                                                                             //nolint:errcheck // until it is closed
	defer web.Close()
	at := t.TempDir()
	own := launch(t, []string{"SVC_DATA_DIR=" + filepath.Join(at, ".svc")}, "serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	host := func(s string) string { return strings.TrimPrefix(s, "http://") }
	for _, c := range []struct {
		who, listen, operations string
		code                    int
		says                    []string
	}{
		{"our own", host(own.Address), host(own.Operations), 0, []string{"ok    listen ", "ok    ops_listen ", "ok    server ", "ok    url.platform "}},
		{"another svc", host(other.Address), host(other.Operations), 1, []string{"fail  listen ", "fail  ops_listen ", "warn  server ", "fail  url.platform ", "leads to another svc"}},
		{"a stranger", stranger.Addr().String(), stranger.Addr().String(), 1, []string{"fail  listen ", "fail  ops_listen ", "warn  server ", "fail  url.platform "}},
	} {
		out, code := mistaken(t, at, nil, []string{"doctor", "--listen", c.listen, "--ops-listen", c.operations})
		if code != c.code {
			t.Errorf("%s: exits with %d: %s", c.who, code, out)
		}
		for _, says := range c.says {
			if !strings.Contains(out, says) {
				t.Errorf("%s: does not say %q: %s", c.who, says, out)
			}
		}
	}
	// A folder that nobody ever served from has no server, whoever answers.
	out, _ := mistaken(t, t.TempDir(), nil, []string{"doctor", "--listen", host(other.Address), "--ops-listen", "127.0.0.1:0"})
	if !strings.Contains(out, "fail  url.platform ") || !strings.Contains(out, "leads to another svc") {
		t.Errorf("a new folder: %s", out)
	}
}

// TestEverySettingIsExplainedInTheHelp looks for each in the table, whose second column begins where it always does.
func TestEverySettingIsExplainedInTheHelp(t *testing.T) {
	out, _ := mistaken(t, t.TempDir(), nil, []string{"serve", "--help"})
	column := 0
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "  KEY ") {
			column = strings.Index(line, "ENVIRONMENT")
		}
	}
	for _, s := range new(config.Config).Settings() {
		names := s.Env
		if s.Flag != "" {
			names += ", --" + s.Flag
		}
		about := command.Hang(column, s.About+" (default "+shownDefault(s)+")")
		if want := fmt.Sprintf("\n  %-*s%s\n%s\n", column-2, s.Key, names, about); s.About == "" || !strings.Contains(out, want) {
			t.Errorf("%s is not explained as %s", s.Key, want)
		}
	}
}

func TestAStopWithOpenStreamsIsToldAndQuick(t *testing.T) {
	p := launch(t, []string{"SVC_DATA_DIR=" + filepath.Join(t.TempDir(), ".svc")}, "serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	ada := signUp(t, p.Serving, "ada")
	ada.do(t, "POST", "/agents/central/chat", `{"kind":"user","body":"n=2"}`)
	req, err := http.NewRequestWithContext(t.Context(), "GET", ada.base+"/agents/central/chat?view=updates&live=sse&offset=-1", nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+ada.key)
	res, err := client.Do(req)
	must(t, err)
	defer res.Body.Close()
	takes(1100 * time.Millisecond) // shorter connections than a second make clients give SSE up
	began := time.Now()
	p.stop(t)
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Errorf("the stream does not end whole: %v", err)
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("one stream ends after %v", took)
	}
	<-p.done
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the stop takes %v", took)
	}
	if said := p.said(); !strings.Contains(said, "a second signal stops at once") || !strings.Contains(said, `"streams":1`) {
		t.Errorf("said: %s", said)
	}
}
