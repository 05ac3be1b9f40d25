package front_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/front"
)

// TestAnAnswerBeforeItsRequestIsReadArrives has clients send for longer than the server itself waits before it cuts them off.
func TestAnAnswerBeforeItsRequestIsReadArrives(t *testing.T) {
	const pieces, piece = 16, 64 << 10
	sized := "Content-Length: " + strconv.Itoa(pieces*piece) + "\r\n"
	for name, of := range map[string]struct {
		head   string
		sealed bool
	}{
		"one of several requests": {sized, false},
		"the only request":        {sized + "Connection: close\r\n", false}, // as proxies send them
		"sealed":                  {sized + "Connection: close\r\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "too much", http.StatusRequestEntityTooLarge)
			}))
			l := listen(t, front.Limits{})
			srv.Listener = l
			front.Guard(srv.Config)
			start := srv.Start
			if of.sealed {
				start = srv.StartTLS
			}
			start()
			t.Cleanup(srv.Close)
			conn := dial(t, l, "127.0.0.1")
			if of.sealed {
				conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
			}
			if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\n"+of.head+"\r\n"); err != nil {
				t.Fatal(err)
			}
			for i := range pieces {
				takes(100 * time.Millisecond)
				if _, err := conn.Write(make([]byte, piece)); err != nil {
					t.Fatalf("piece %d: %v", i, err)
				}
			}
			if answer, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(answer), "too much\n") {
				t.Errorf("the answer is %q, %v", answer, err)
			}
			_ = conn.Close()
			eventually(t, "the connection's place is free", func() bool { return l.Count() == 0 })
		})
	}
}
