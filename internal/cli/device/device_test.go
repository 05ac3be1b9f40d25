package device_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc.dev/svc/internal/cli/device"
)

// platform answers as accounts.md section 7 says, and plays one answer of a list for each poll; the last one stays.
type platform struct {
	t       *testing.T
	answers []answer
	began   time.Time
	polls   []time.Duration // when each came
}

type answer struct {
	status int // 0: the connection breaks
	body   string
	after  string
}

var (
	pending = answer{status: 400, body: `{"error":"authorization_pending"}`}
	slower  = answer{status: 400, body: `{"error":"slow_down"}`}
	granted = answer{status: 200, body: `{"key":"svck_x","id":"key_1","workspace":"ada/personal","baseUrl":"https://agents.example.com/v1/ada/personal","scopes":["agents:read"],"expiresAt":"2026-03-01T00:00:00.000Z"}`}
	expired = answer{status: 400, body: `{"error":"expired_token"}`}
	broken  = answer{}
)

func (p *platform) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Cookie") != "" || r.Method != http.MethodPost {
		p.t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
	}
	body, _ := io.ReadAll(r.Body)
	var said map[string]string
	if err := json.Unmarshal(body, &said); err != nil {
		p.t.Errorf("%s: %v", body, err)
	}
	w := httptest.NewRecorder()
	switch r.URL.Path {
	case "/api/auth/device":
		if said["client"] != "svc test" {
			p.t.Errorf("asked by %s", body)
		}
		_, _ = io.WriteString(w, `{"device_code":"dc","user_code":"BCDF-GHJK","verification_uri":"https://svc.example.com/device","verification_uri_complete":"https://svc.example.com/device?code=BCDF-GHJK","expires_in":600,"interval":5}`)
	case "/api/auth/device/token":
		if said["device_code"] != "dc" || said["grant_type"] != "urn:ietf:params:oauth:grant-type:device_code" {
			p.t.Errorf("polled with %s", body)
		}
		p.polls = append(p.polls, time.Since(p.began))
		now := p.answers[0]
		if len(p.answers) > 1 {
			p.answers = p.answers[1:]
		}
		if now.status == 0 {
			return nil, errors.New("connection reset")
		}
		w.Header().Set("Retry-After", now.after)
		w.WriteHeader(now.status)
		_, _ = io.WriteString(w, now.body)
	default:
		p.t.Errorf("asked for %s", r.URL)
	}
	return w.Result(), nil
}

func seconds(all ...int) (times []time.Duration) {
	for _, s := range all {
		times = append(times, time.Duration(s)*time.Second)
	}
	return times
}

func TestKeyIsPolledForAsTheServiceWantsIt(t *testing.T) {
	for name, test := range map[string]struct {
		answers []answer
		want    error
		polls   []time.Duration
	}{
		"approved at once":                   {[]answer{granted}, nil, seconds(5)},
		"approved later":                     {[]answer{pending, pending, granted}, nil, seconds(5, 10, 15)},
		"too fast, then slower for good":     {[]answer{slower, pending, slower, granted}, nil, seconds(5, 15, 25, 40)},
		"denied":                             {[]answer{pending, {status: 400, body: `{"error":"access_denied"}`}}, device.ErrDenied, seconds(5, 10)},
		"expired":                            {[]answer{pending, expired}, device.ErrExpired, seconds(5, 10)},
		"a broken connection, then approved": {[]answer{broken, broken, granted}, nil, seconds(5, 15, 35)},
		"a service that restarts":            {[]answer{{status: 503, after: "1"}, pending, granted}, nil, seconds(5, 15, 20)},
		"a limit with its time":              {[]answer{{status: 429, after: "90"}, granted}, nil, seconds(5, 95)},
		"an answer that was lost":            {[]answer{pending, broken, expired}, device.ErrLost, seconds(5, 10, 20)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &platform{t: t, answers: test.answers, began: time.Now()}
				f := device.Flow{Platform: "https://svc.example.com/", Client: "svc test", HTTP: &http.Client{Transport: p}}
				code, err := f.Begin(t.Context())
				if err != nil || code.UserCode != "BCDF-GHJK" {
					t.Fatalf("%+v, %v", code, err)
				}
				got, err := f.Await(t.Context(), code)
				if !errors.Is(err, test.want) || (test.want == nil && (err != nil || got.Key != "svck_x" || got.Workspace != "ada/personal" || got.ExpiresAt == nil)) {
					t.Errorf("%+v, %v; want %v", got, err, test.want)
				}
				if len(p.polls) != len(test.polls) {
					t.Fatalf("polled at %v, want %v", p.polls, test.polls)
				}
				for i := range p.polls {
					if p.polls[i] != test.polls[i] {
						t.Errorf("polled at %v, want %v", p.polls, test.polls)
						break
					}
				}
			})
		})
	}
}

// TestNobodyWaitsForEver has a service that always says the same: at the end of its code the wait ends too.
func TestNobodyWaitsForEver(t *testing.T) {
	for name, always := range map[string]answer{"pending": pending, "slower": slower, "broken": broken, "failing": {status: 500}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &platform{t: t, answers: []answer{always}, began: time.Now()}
				f := device.Flow{Platform: "https://svc.example.com", Client: "svc test", HTTP: &http.Client{Transport: p}}
				code, err := f.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.Await(t.Context(), code); !errors.Is(err, device.ErrExpired) {
					t.Errorf("ends with %v", err)
				}
				if took := time.Since(p.began); took < 10*time.Minute || took > 12*time.Minute {
					t.Errorf("ends after %s", took)
				}
			})
		})
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &platform{t: t, answers: []answer{pending}, began: time.Now()}
		f := device.Flow{Platform: "https://svc.example.com", Client: "svc test", HTTP: &http.Client{Transport: p}}
		code, err := f.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		if _, err := f.Await(ctx, code); !errors.Is(err, context.DeadlineExceeded) || len(p.polls) != 2 {
			t.Errorf("after %d polls: %v", len(p.polls), err)
		}
	})
}

func TestRefusalIsToldInItsOwnWords(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"type":"route_not_found","message":"Nothing is here.","details":"Look elsewhere."}}`: "Nothing is here. Look elsewhere.",
		`<html>`:              "the service answers with 404 Not Found",
		`{"error":"unheard"}`: "the service answers with 404 Not Found",
	} {
		at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(404)
			_, _ = io.WriteString(w, body)
		}))
		_, err := device.Flow{Platform: at.URL, HTTP: at.Client()}.Begin(t.Context())
		at.Close()
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func FuzzParseCode(f *testing.F) {
	f.Add([]byte(`{"device_code":"a","user_code":"b","verification_uri":"c","expires_in":1e308,"interval":-1}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := device.ParseCode(body)
		if err == nil && (c.DeviceCode == "" || c.Interval <= 0 || c.Interval > 60 || c.ExpiresIn <= 0 || c.ExpiresIn >= 3600) {
			t.Fatalf("%q is read as %+v", body, c)
		}
	})
}

func FuzzParseGrant(f *testing.F) {
	f.Add([]byte(granted.body))
	f.Add([]byte(`{"key":"x","baseUrl":"y","workspace":{}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		g, err := device.ParseGrant(body)
		if err == nil && (g.Key == "" || g.BaseURL == "") {
			t.Fatalf("%q is read as %+v", body, g)
		}
	})
}
