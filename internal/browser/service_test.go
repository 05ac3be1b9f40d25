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

	folder string   // where its data is
	env    []string // its settings
	cmd    *exec.Cmd
	ended  chan struct{} // closed when it has said its last word
	mu     sync.Mutex
	log    strings.Builder
}

// serve runs the service until the test ends. Each setting is a variable of its environment.
func serve(t *testing.T, settings ...string) *service {
	t.Helper()
	s := &service{folder: t.TempDir()}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "SVC_") {
			s.env = append(s.env, variable)
		}
	}
	s.env = append(s.env, settings...)
	if err := s.start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stop(t) })
	return s
}

// start runs the service at an address, and returns when it serves.
func (s *service) start(address string) error {
	s.cmd = exec.Command(studio.binary, "serve", "--data", s.folder, "--listen", address, "--ops-listen", "127.0.0.1:0", "--log-format", "json")
	s.cmd.Env = s.env
	out, err := s.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	begun, ended := make(chan struct{}), make(chan struct{})
	s.ended = ended
	go func() {
		defer close(ended)
		s.listen(out, begun)
	}()
	select {
	case <-begun:
		return nil
	case <-ended:
		return fmt.Errorf("the service did not start:\n%s", s.said())
	case <-time.After(30 * time.Second):
		return fmt.Errorf("the service does not start:\n%s", s.said())
	}
}

// kill ends the service without a word of warning.
func (s *service) kill() error {
	if err := s.cmd.Process.Kill(); err != nil {
		return err
	}
	<-s.ended
	_ = s.cmd.Wait() // killed, as was wanted
	return nil
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
func (s *service) stop(t *testing.T) {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	<-s.ended
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if said := s.said(); t.Failed() || strings.Contains(said, `"level":"ERROR"`) {
		t.Errorf("the service said:\n%s", said)
	}
}
