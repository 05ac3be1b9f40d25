package script

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// openClient reaches every address.
var openClient = &http.Client{Transport: &http.Transport{
	Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConns: 256, MaxIdleConnsPerHost: 16, IdleConnTimeout: 30 * time.Second,
	TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
}}

// fetch goes out for a script: method, address, redirect mode, headers, and a body in base64 or none. It answers with the head; the
// body stays here until a script reads it.
func (c Call) fetch() {
	// The request outlives this call by its body: the context ends with the act, with the engine, or when the body has ended.
	ctx, cancel := context.WithCancel(c.Engine.contextOf(c.act))
	unhook := context.AfterFunc(c.Engine.ctx, cancel)
	stop := func() { unhook(); cancel(); c.Engine.forgetCall(c.id) }
	if !c.Engine.rememberCall(c.id, stop) {
		stop()
		c.Settle(nil, &Thrown{Name: "RangeError", Message: fmt.Sprintf("there are %d fetches whose answers were not read, which is as many as there may be", c.Engine.config.Limits.Fetches)})
		return
	}
	c.Go(func(context.Context) (head any, err error) {
		err = errUnanswered
		defer func() {
			if err != nil {
				stop()
			}
		}()
		return c.goOut(ctx, stop)
	})
}

// rememberCall reports false when there are as many fetches as there may be.
func (e *Engine) rememberCall(id int64, stop func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.calls) >= e.config.Limits.Fetches {
		return false
	}
	e.calls[id] = stop
	return true
}

func (e *Engine) forgetCall(id int64) {
	e.mu.Lock()
	delete(e.calls, id)
	e.mu.Unlock()
}

// stop ends a fetch whose signal was aborted.
func (c Call) stop() (any, error) {
	c.Engine.mu.Lock()
	stop := c.Engine.calls[c.Args.Int(0)]
	c.Engine.mu.Unlock()
	if stop != nil {
		stop()
	}
	return nil, nil
}

func (c Call) goOut(ctx context.Context, stop func()) (any, error) {
	r, err := c.outgoing(ctx)
	if err != nil {
		return nil, failed(err)
	}
	client := redirecting(c.Engine.config.Client, c.Args.String(2))
	res, err := client.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, failed(err)
	}
	return c.head(res, stop), nil
}

// failed is how fetch fails, as scripts catch it.
func failed(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	return &Thrown{Name: "TypeError", Message: "fetch failed: " + err.Error()}
}

func (c Call) outgoing(ctx context.Context) (*http.Request, error) {
	var body io.Reader
	if c.Args.Has(4) {
		data, err := c.Args.Bytes(4)
		if err != nil {
			return nil, err
		}
		if limit := c.Engine.config.Limits.Body; int64(len(data)) > limit {
			return nil, TooLong(limit)
		}
		body = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(ctx, c.Args.String(0), c.Args.String(1), body)
	if err != nil {
		return nil, err
	}
	if r.URL.Scheme != "http" && r.URL.Scheme != "https" {
		return nil, fmt.Errorf("the scheme %s is not one that fetch knows: write http or https", r.URL.Scheme)
	}
	r.Header = Unflat(c.Args.String(3))
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	// How an answer is packed is between Go and the other side: Go asks for what it unpacks.
	for _, name := range []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Accept-Encoding"} {
		r.Header.Del(name)
	}
	if r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", c.Engine.config.UserAgent)
	}
	if r.Header.Get("Accept") == "" {
		r.Header.Set("Accept", "*/*")
	}
	return r, nil
}

// redirecting is the client with a script's own wish about redirects. It follows none that the client would not.
func redirecting(client *http.Client, mode string) *http.Client {
	own := *client
	switch mode {
	case "manual":
		own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	case "error":
		own.CheckRedirect = func(*http.Request, []*http.Request) error { return errors.New("unexpected redirect") }
	default:
		if own.CheckRedirect == nil {
			own.CheckRedirect = func(_ *http.Request, before []*http.Request) error {
				if len(before) >= 20 {
					return errors.New("redirect count exceeded")
				}
				return nil
			}
		}
	}
	return &own
}

// head is an answer as it crosses: status, its text, address, whether it was redirected, the body's id, and the headers.
func (c Call) head(res *http.Response, stop func()) string {
	id := int64(0)
	if hasBody(res) {
		id = c.Engine.keep(c.act, NewSource(res.Body, stop))
	} else {
		_ = res.Body.Close()
		stop()
	}
	asked := c.Args.String(1)
	address := *res.Request.URL
	address.Fragment, address.RawFragment = "", ""
	_, text, _ := strings.Cut(res.Status, " ")
	return strings.Join([]string{
		strconv.Itoa(res.StatusCode), text, address.String(), strconv.FormatBool(address.String() != strings.SplitN(asked, "#", 2)[0]),
		strconv.FormatInt(id, 10), Flat(res.Header),
	}, "\n")
}

func hasBody(res *http.Response) bool {
	switch {
	case res.Request.Method == http.MethodHead, res.StatusCode == http.StatusNoContent, res.StatusCode == http.StatusResetContent, res.StatusCode == http.StatusNotModified:
		return false
	}
	return res.Body != nil
}
