// Package client is the Go client of svc's HTTP API: agents are prompted and observed, workflows run, runs followed.
//
// A stream goes on after any cut, gives nothing twice and leaves nothing out; a prompt whose answer was lost is asked for again
// and is admitted once. The package imports nothing of the runtime.
//
//	c, err := client.New(client.Config{BaseURL: "https://agents.example.com/v1/ada/personal", Token: key})
//	sent, err := c.Agents.Send(ctx, "support", "ticket-42", client.Prompt{Body: "What is your refund policy?"})
//	reply, err := c.Agents.Wait(ctx, sent)
//	fmt.Println(reply.Text())
package client

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Config is where the API is and how it is asked. Only BaseURL is needed.
type Config struct {
	// BaseURL is the address that /agents, /workflows and /runs stand below.
	BaseURL string
	// Token is sent as a bearer token. Defaults to none.
	Token string
	// TokenFunc gives the token instead: it is asked first, and again when a token was refused. Streams go on with the new one.
	// It is never asked twice at a time. Defaults to Token.
	TokenFunc func(ctx context.Context) (string, error)
	// Header is sent with every request, and wins over what the client would send. Defaults to none.
	Header http.Header
	// HTTP sends the requests. Redirects are not followed: a token goes to BaseURL alone. Defaults to a client on
	// http.DefaultTransport.
	HTTP *http.Client
	// Patience is how long something is asked for again that is not answered: a call, or a stream before its first answer. One
	// that was answered goes on until its context ends. Negative is for ever. Defaults to 30 seconds.
	Patience time.Duration
	// Backoff is the longest wait before the first repetition; each further one may take twice as long, up to ten seconds. The waits
	// are random below that, and never shorter than the server asks for. Defaults to 100 ms.
	Backoff time.Duration
	// MaxFrame is the most bytes of a page of a stream, a snapshot or an answer that are held at a time; what is longer is an error
	// of type frame_too_large. Defaults to 96 MiB.
	MaxFrame int
	// Retrying is told before each wait: why, and how long it takes. It must not block. Defaults to nobody.
	Retrying func(err error, wait time.Duration)
}

const (
	defaultPatience = 30 * time.Second
	defaultBackoff  = 100 * time.Millisecond
	defaultMaxFrame = 96 << 20 // a body of 64 MiB as a message, with room for what its encoding adds
)

// Client asks one svc. It may be used by many goroutines at a time; it holds no goroutine itself.
type Client struct {
	Agents    *Agents
	Workflows *Workflows
	Runs      *Runs

	config Config
	http   *http.Client
	tokens bearer
	held   held
}

// New makes a client. It asks nothing yet; the error is that of an address that is none.
func New(c Config) (*Client, error) {
	base, err := url.Parse(c.BaseURL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" || base.Fragment != "" || base.User != nil {
		return nil, &Error{Type: InvalidInput, Message: "BaseURL is not the address of an API.", Details: "It begins with http:// or https:// and has no query.", Cause: err}
	}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	c.Patience = cmp.Or(c.Patience, defaultPatience)
	c.Backoff = cmp.Or(c.Backoff, defaultBackoff)
	c.MaxFrame = cmp.Or(c.MaxFrame, defaultMaxFrame)
	client := &Client{config: c, http: withoutRedirects(c.HTTP), tokens: newTokens(c)}
	client.Agents, client.Workflows, client.Runs = &Agents{client}, &Workflows{client}, &Runs{client}
	return client, nil
}

// withoutRedirects is a client that hands a redirect over as the answer that it is: this API has none, and another host must not
// get what is sent.
func withoutRedirects(h *http.Client) *http.Client {
	if h == nil {
		h = &http.Client{}
	}
	own := *h
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// path joins segments, each of them escaped.
func path(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString("/" + url.PathEscape(s))
	}
	return b.String()
}
