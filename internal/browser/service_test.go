package browser

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// service is svc serve, on a data folder of its own.
type service struct {
	Address   string `json:"address"`
	Platform  string `json:"platform"`
	Agents    string `json:"agents"`
	Admin     string `json:"admin"`
	SetupLink string `json:"setup_link"`

	cmd *exec.Cmd
	mu  sync.Mutex
	log strings.Builder
}

// serve runs the service until the test ends. Each setting is a variable of its environment.
func serve(t *testing.T, settings ...string) *service {
	t.Helper()
	s := &service{cmd: exec.Command(studio.binary, "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--log-format", "json")}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "SVC_") {
			s.cmd.Env = append(s.cmd.Env, variable)
		}
	}
	s.cmd.Env = append(s.cmd.Env, settings...)
	out, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	begun, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		s.listen(out, begun)
	}()
	t.Cleanup(func() { s.stop(t, ended) })
	select {
	case <-begun:
	case <-ended:
		t.Fatalf("the service did not start:\n%s", s.said())
	case <-time.After(30 * time.Second):
		t.Fatalf("the service does not start:\n%s", s.said())
	}
	return s
}

// listen keeps what the service says, and tells when it has begun.
func (s *service) listen(out io.Reader, begun chan<- struct{}) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		s.mu.Lock()
		fmt.Fprintln(&s.log, lines.Text())
		s.mu.Unlock()
		if begun != nil && strings.Contains(lines.Text(), `"msg":"serving"`) {
			if err := json.Unmarshal(lines.Bytes(), s); err == nil {
				close(begun)
			}
			begun = nil
		}
	}
}

func (s *service) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// stop ends the service. Whatever a browser does, a service has no reason to complain of itself.
func (s *service) stop(t *testing.T, ended <-chan struct{}) {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	<-ended
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if said := s.said(); t.Failed() || strings.Contains(said, `"level":"ERROR"`) {
		t.Errorf("the service said:\n%s", said)
	}
}
