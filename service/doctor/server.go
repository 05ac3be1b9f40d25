package doctor

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"svc.dev/svc/service/config"
	"svc.dev/svc/service/database"
)

// askingServer is how long doctor waits for a server.
const askingServer = 3 * time.Second

// Readiness is what /readyz says.
type Readiness struct {
	Ready  bool    `json:"ready"`
	State  string  `json:"state"` // loading, serving, draining or failed
	Checks []Check `json:"checks"`
	Node   string  `json:"node"` // as strangers may hear it
}

// Check is one thing that must hold before requests should come to a process.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
	Error  string `json:"error,omitempty"`
}

// judgeAnswer says whether it is the server of this folder that listens at an address, by what is answered there.
func (d *doctor) judgeAnswer(ctx context.Context, key, address string) Finding {
	ctx, cancel := context.WithTimeout(ctx, askingServer)
	defer cancel()
	if key == "listen" && d.config.ListenTLS != "" {
		return fine(fmt.Sprintf("%s is in use, and process %d serves: it leads to listen_tls", address, d.holder.PID))
	}
	if d.nodeAt(ctx, key, address) != database.PublicNode(database.NodeIn(d.config.DataDir)) {
		return fail(fmt.Sprintf("%s answers, but it is not process %d, which serves from %s", address, d.holder.PID, d.config.DataDir),
			"give doctor the address that the server was started with, or stop what listens there and start the server again")
	}
	return fine(fmt.Sprintf("%s is in use by process %d, which serves", address, d.holder.PID))
}

// nodeAt is what the server at an address says that it is; empty: it says nothing that is understood.
func (d *doctor) nodeAt(ctx context.Context, key, address string) string {
	switch platform := d.config.Surfaces()[0]; key {
	case "listen":
		return d.ask(ctx, platform, "http://"+address, nil).probe.Node
	case "listen_tls":
		return d.byTLS(platform.URL.Hostname()).ask(ctx, platform, "https://"+address, nil).probe.Node
	}
	answer, err := readReadiness(ctx, "http://"+address+"/readyz")
	if err != nil {
		return ""
	}
	return answer.Node
}

// byTLS is a doctor who asks for a host by TLS at whatever address. The server is known by what it says: whether browsers believe the
// certificate is judged where they would ask.
func (d *doctor) byTLS(host string) *doctor {
	other := *d
	other.transport = d.transport.Clone()
	other.transport.TLSClientConfig = &tls.Config{ServerName: host, InsecureSkipVerify: true}
	return &other
}

// askServer asks the server that holds the folder how it is.
func (d *doctor) askServer(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askingServer)
	defer cancel()
	url := "http://" + d.config.OpsListen + "/readyz"
	answer, err := readReadiness(ctx, url)
	if err != nil {
		d.add("server", warn("does not answer: "+err.Error(), "give doctor the server's own ops_listen"))
		return
	}
	if answer.Node != database.PublicNode(database.NodeIn(d.config.DataDir)) {
		d.add("server", warn(url+" is answered by another server than that of "+d.config.DataDir, "give doctor the server's own ops_listen"))
		return
	}
	if answer.Ready {
		d.add("server", fine(url+" says it is ready"))
		return
	}
	for _, c := range answer.Checks {
		if !c.OK {
			d.add("server", fail(fmt.Sprintf("%s says it is %s: %s: %s", url, answer.State, c.Name, c.Error), "read the server's log"))
		}
	}
}

// AskReadiness asks the service at the operations address of a configuration how it is.
func AskReadiness(ctx context.Context, c config.Config) (Readiness, error) {
	ctx, cancel := context.WithTimeout(ctx, askingServer)
	defer cancel()
	return readReadiness(ctx, "http://"+c.WithDefaults().OpsListen+"/readyz")
}

func readReadiness(ctx context.Context, url string) (answer Readiness, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return answer, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer, err
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return answer, fmt.Errorf("%s is not a readiness answer: %w", url, err)
	}
	return answer, nil
}
