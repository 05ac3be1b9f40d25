package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc.dev/svc/service"
	"svc.dev/svc/service/certificate/certificatetest"
	"svc.dev/svc/service/gateway"
)

// inFront is a program that ends TLS in front of a service, as deploy/ configures it.
type inFront struct {
	program string
	port    string // where it listens
	behind  string // where the service does
	folder  string
	// write makes the file of deploy/ one for this machine, and returns how the program is started with it and who vouches for it.
	write func(t *testing.T, f *inFront) (args []string, trust func() *x509.CertPool)
	cmd   *exec.Cmd
}

var surfaces = []string{"svc.example.com", "agents.svc.example.com", "admin.svc.example.com"}

// adapted is a file of deploy/ with other words in place of what belongs to a machine. Each must be there.
func adapted(t *testing.T, name string, pairs ...string) string {
	t.Helper()
	file := text(t, filepath.Join("..", "..", "deploy"), name)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(file, pairs[i]) {
			t.Fatalf("deploy/%s does not say %q", name, pairs[i])
		}
	}
	return strings.NewReplacer(pairs...).Replace(file)
}

func writeNginx(t *testing.T, f *inFront) ([]string, func() *x509.CertPool) {
	a := certificatetest.New(t)
	cert, key := a.Write(t, f.folder, time.Now().Add(time.Hour), surfaces...)
	site := adapted(t, "nginx.conf",
		"listen 443 ssl http2;", "listen 127.0.0.1:"+f.port+" ssl http2;", "listen [::]:443 ssl http2;", "",
		"listen 80;", "listen 127.0.0.1:"+freePort(t)+";", "listen [::]:80;", "",
		"server 127.0.0.1:8080;", "server "+f.behind+";",
		"/etc/ssl/svc/fullchain.pem", cert, "/etc/ssl/svc/privkey.pem", key)
	whole := fmt.Sprintf("daemon off;\nworker_processes 1;\npid %[1]s/pid;\nerror_log stderr warn;\nevents {}\nhttp {\naccess_log off;\n"+
		"client_body_temp_path %[1]s/body;\nproxy_temp_path %[1]s/proxy;\nfastcgi_temp_path %[1]s/f;\nuwsgi_temp_path %[1]s/u;\nscgi_temp_path %[1]s/s;\n%[2]s}\n", f.folder, site)
	if os.Getuid() == 0 {
		whole = "user root;\n" + whole // its workers may read what the test has written
	}
	path := writeFile(t, filepath.Join(f.folder, "nginx.conf"), whole)
	return []string{"-c", path, "-e", "stderr"}, func() *x509.CertPool { return a.Pool }
}

func writeCaddy(t *testing.T, f *inFront) ([]string, func() *x509.CertPool) {
	options := fmt.Sprintf("{\n\tadmin off\n\tlocal_certs\n\tskip_install_trust\n\thttps_port %s\n\thttp_port %s\n\tdefault_bind 127.0.0.1\n\tstorage file_system %s\n}\n",
		f.port, freePort(t), f.folder)
	path := writeFile(t, filepath.Join(f.folder, "Caddyfile"), options+adapted(t, "Caddyfile", "{$UPSTREAM:127.0.0.1:8080}", f.behind))
	return []string{"run", "--config", path, "--adapter", "caddyfile"}, func() *x509.CertPool {
		pool := x509.NewCertPool()
		if root, err := os.ReadFile(filepath.Join(f.folder, "pki", "authorities", "local", "root.crt")); err == nil {
			pool.AppendCertsFromPEM(root)
		}
		return pool
	}
}

// start runs the program until the service is reached through it, and makes it the way of every client in this test.
func (f *inFront) start(t *testing.T) {
	t.Helper()
	args, trust := f.write(t, f)
	f.cmd = exec.Command(f.program, args...)
	f.cmd.Env = append(os.Environ(), "HOME="+f.folder, "XDG_CONFIG_HOME="+f.folder, "XDG_DATA_HOME="+f.folder, "DOMAIN=svc.example.com")
	var said bytes.Buffer
	f.cmd.Stderr = &said
	f.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // nginx has workers, which outlive it
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.stop()
		if t.Failed() {
			t.Logf("%s said: %s", f.program, &said)
		}
	})
	reached := func() bool {
		client = f.clientBelieving(trust())
		res, err := client.Get("https://svc.example.com/api/probe")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	}
	if !eventually(reached) {
		t.Fatalf("%s does not lead to the service", f.program)
	}
}

func (f *inFront) stop() {
	_ = syscall.Kill(-f.cmd.Process.Pid, syscall.SIGKILL) // it may have ended before
	_ = f.cmd.Wait()
}

func (f *inFront) clientBelieving(pool *x509.CertPool) *http.Client {
	return &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+f.port)
		},
	}}
}

// TestProxiesPassStreamsAndUploadsThrough runs the service behind each proxy as deploy/ configures it.
func TestProxiesPassStreamsAndUploadsThrough(t *testing.T) {
	if os.Getenv("SVC_SOAK") == "" {
		t.Skip("SVC_SOAK is not set: the proxies are other programs, and a long-poll takes 30 seconds")
	}
	for program, write := range map[string]func(*testing.T, *inFront) ([]string, func() *x509.CertPool){"nginx": writeNginx, "caddy": writeCaddy} {
		t.Run(program, func(t *testing.T) {
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("there is no %s", program)
			}
			direct := client
			t.Cleanup(func() { client = direct })
			f := &inFront{program: program, port: freePort(t), behind: "127.0.0.1:" + freePort(t), folder: t.TempDir(), write: write}
			p := launch(t, []string{
				"SVC_LISTEN=" + f.behind, "SVC_OPS_LISTEN=127.0.0.1:0", "SVC_TRUSTED_PROXIES=127.0.0.1/32", "SVC_COOKIE_DOMAIN=svc.example.com",
				"SVC_PLATFORM_URL=https://svc.example.com", "SVC_AGENTS_URL=https://agents.svc.example.com", "SVC_ADMIN_URL=https://admin.svc.example.com",
			}, "serve", "--data", filepath.Join(t.TempDir(), "data"))
			f.start(t)
			ada := signUp(t, p.Serving, "ada", "agents:read", "agents:write", "projects:read", "projects:write")
			clientIsKnown(t, p.Serving)
			wordsComeAtOnce(t, ada)
			streamOutlivesProxy(t, ada, f)
			longPollWaits(t, ada)
			uploadPasses(t, ada, p.Serving)
		})
	}
}

// clientIsKnown fails unless the proxy says who asks, and a client cannot.
func clientIsKnown(t *testing.T, at service.Serving) {
	t.Helper()
	for _, claim := range []string{"", gateway.NobodysAddress} {
		h := http.Header{}
		if claim != "" {
			h.Set("X-Forwarded-For", claim)
		}
		if res := send(t, "GET", at.Agents+gateway.ProbePath, h, ""); !strings.Contains(res.body, `"surface":"agents"`) || !strings.Contains(res.body, `"forwarded":"counted"`) {
			t.Errorf("who claims %q: %d %s", claim, res.status, res.body)
		}
	}
}

// wordsComeAtOnce hears the first word of a reply whose second comes a day later: a proxy that holds back has nothing to bring.
func wordsComeAtOnce(t *testing.T, p person) {
	t.Helper()
	if res := p.do(t, "POST", "/agents/central/slow", `{"kind":"user","body":"n=2 delay=86400000"}`); res.status != http.StatusAccepted {
		t.Fatalf("prompt: %d %s", res.status, res.body)
	}
	heard := story{offset: "-1"}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		heard.follow(t, p, "/agents/central/slow", 1)
	}()
	select {
	case <-ended:
		heard.holds(t, 1)
	case <-time.After(time.Minute):
		t.Error("the first word of a reply is held back")
	}
	if res := p.do(t, "POST", "/agents/central/slow/abort", ""); res.status != http.StatusOK {
		t.Errorf("abort: %d %s", res.status, res.body)
	}
}

// streamOutlivesProxy goes on at the last offset behind a proxy that was killed in the middle.
func streamOutlivesProxy(t *testing.T, p person, f *inFront) {
	t.Helper()
	const words = 300
	if res := p.do(t, "POST", "/agents/central/long", fmt.Sprintf(`{"kind":"user","body":"n=%d delay=10"}`, words)); res.status != http.StatusAccepted {
		t.Fatalf("prompt: %d %s", res.status, res.body)
	}
	heard := story{offset: "-1"}
	heard.follow(t, p, "/agents/central/long", 20)
	f.stop()
	f.start(t)
	for range 20 {
		heard.follow(t, p, "/agents/central/long", words)
	}
	heard.holds(t, words)
}

// longPollWaits asks at the end of a stream where nothing comes: the answer is ours, not a proxy's that lost patience.
func longPollWaits(t *testing.T, p person) {
	t.Helper()
	var told struct{ Offset string }
	res := p.do(t, "GET", "/agents/central/long", "")
	if err := json.Unmarshal([]byte(res.body), &told); err != nil {
		t.Fatalf("history: %v: %s", err, res.body)
	}
	if res := p.do(t, "GET", "/agents/central/long?view=updates&live=long-poll&offset="+told.Offset, ""); res.status != http.StatusOK || strings.TrimSpace(res.body) != "[]" {
		t.Errorf("long-poll: %d %s", res.status, res.body)
	}
}

// uploadPasses sends a file that is larger than what proxies take by default, and fetches it again.
func uploadPasses(t *testing.T, p person, at service.Serving) {
	t.Helper()
	files := at.Agents + "/api/workspaces/ada/personal/projects"
	key := http.Header{"Authorization": {"Bearer " + p.key}}
	if res := send(t, "POST", files, key.Clone(), `{"slug":"notes"}`); res.status != http.StatusCreated {
		t.Fatalf("project: %d %s", res.status, res.body)
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), 20<<20/16)
	if res := send(t, "PUT", files+"/notes/files/large.bin", key.Clone(), string(large)); res.status/100 != 2 {
		t.Fatalf("upload: %d %s", res.status, res.body)
	}
	if res := send(t, "GET", files+"/notes/files/large.bin", key.Clone(), ""); sha256.Sum256([]byte(res.body)) != sha256.Sum256(large) {
		t.Errorf("download: %d, %d bytes", res.status, len(res.body))
	}
}
