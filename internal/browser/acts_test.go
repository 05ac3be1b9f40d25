package browser

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/service/account/githubtest"
	"svc.dev/svc/service/mail/mailtest"
)

// loopback is a program outside of the browser, for which every name is this machine.
var loopback = &http.Client{Transport: &http.Transport{
	DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
	},
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the certificate is the test's own
}}

// call is a request as curl would send it.
type call struct {
	Method, URL, Body string
	Header            map[string]string
}

// reply is what a program gets to see of an answer.
type reply struct {
	Status int    `json:"status"`
	Body   string `json:"body"`
	Cookie string `json:"cookie,omitempty"` // what is set, as it is sent back
}

func (c call) send(ctx context.Context) (reply, error) {
	r, err := http.NewRequestWithContext(ctx, c.Method, c.URL, strings.NewReader(c.Body))
	if err != nil {
		return reply{}, err
	}
	for name, value := range c.Header {
		r.Header.Set(name, value)
	}
	response, err := loopback.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	var cookies []string
	for _, cookie := range response.Cookies() {
		cookies = append(cookies, cookie.Name+"="+cookie.Value)
	}
	return reply{response.StatusCode, string(body), strings.Join(cookies, "; ")}, err
}

// withPrograms lets the script send requests without a browser.
func (s *scene) withPrograms(t *testing.T) {
	on(s, "send", func(c call) (any, error) { return c.send(t.Context()) })
}

// withDeath lets the script kill what runs work, or the gateway before it, and start it again where it was.
func (s *scene) withDeath(service *service) {
	on(s, "kill", func(of struct{ Part string }) (any, error) { return nil, service.named(of.Part).kill() })
	on(s, "start", func(struct{}) (any, error) { return nil, service.start() })
}

// letter is a mail as the script reads it.
type letter struct {
	Subject string `json:"subject"`
	Link    string `json:"link"` // the one that carries a token
}

// withMail lets the script read mails, and have people who proved their addresses.
func (s *scene) withMail(t *testing.T, server *mailtest.Server) {
	on(s, "mail", func(of struct{ To string }) (any, error) { return open(server.Next(t, of.To)), nil })
	on(s, "member", func(of struct{ Email, Password, Username string }) (any, error) {
		platform := s.given["platform"].(string)
		post := func(path, body string, want int) error {
			header := map[string]string{"Origin": platform, "Content-Type": "application/json"}
			got, err := call{"POST", platform + path, body, header}.send(t.Context())
			if err == nil && got.Status != want {
				err = fmt.Errorf("%s: %d %s", path, got.Status, got.Body)
			}
			return err
		}
		err := post("/api/auth/password/register", fmt.Sprintf(`{"email":%q,"password":%q,"username":%q}`, of.Email, of.Password, of.Username), 202)
		if err != nil {
			return nil, err
		}
		return nil, post("/api/auth/email/verify", fmt.Sprintf(`{"token":%q}`, server.Next(t, of.Email).Token()), 204)
	})
}

func open(m mailtest.Message) letter {
	l := letter{Subject: m.Subject}
	for _, link := range m.Links {
		if strings.Contains(link, "#t=") {
			l.Link = link
		}
	}
	return l
}

// withGitHub lets the script change GitHub. The service is to make one app there, and no more.
func (s *scene) withGitHub(t *testing.T, hub *githubtest.Server, webhook string) {
	s.given["github"] = hub.URL
	hub.AddUser(githubtest.User{Login: "adahub", Name: "Ada", Emails: []githubtest.Email{{Email: "ada@elsewhere.example", Verified: true, Primary: true}}})
	// Ids are given in their order, and the next is the app's.
	app := hub.AddOrganization(githubtest.Organization{Login: "elsewhere"}) + 1
	on(s, "permission", func(of struct{ Name, Level string }) (any, error) {
		hub.SetPermission(app, of.Name, of.Level)
		return nil, nil
	})
	on(s, "convert as", func(of struct{ Login string }) (any, error) {
		hub.ConvertAs(of.Login)
		return nil, nil
	})
	on(s, "fail once", func(of struct {
		Route  string
		Status int
	}) (any, error) {
		hub.FailOnce(of.Route, githubtest.Status(of.Status))
		return nil, nil
	})
	on(s, "push", func(of struct {
		Repository string
		Files      map[string]string
	}) (any, error) {
		hub.Push(t, of.Repository, of.Files)
		return nil, nil
	})
	on(s, "slow git", func(of struct{ Milliseconds int }) (any, error) {
		hub.FailOnce(githubtest.GitRoute, githubtest.Slow(time.Duration(of.Milliseconds)*time.Millisecond))
		return nil, nil
	})
	on(s, "only requests", func(of struct{ On bool }) (any, error) {
		hub.RequestInstall(of.On)
		return nil, nil
	})
	on(s, "revoke", func(struct{}) (any, error) {
		hub.Revoke(app, githubtest.Octocat)
		response, err := hub.Deliver(t.Context(), app, githubtest.Delivery{
			Event: "github_app_authorization", Body: hub.RevokedPayload(githubtest.Octocat), To: webhook,
		})
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return reply{Status: response.StatusCode, Body: string(body)}, err
	})
}
