package doctor

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"svc.dev/svc/service/config"
)

// World is what doctor sees of the world, as a test makes it up.
type World struct {
	Now    func() time.Time
	Lookup func(ctx context.Context, host string) ([]string, error)
	TLS    *tls.Config
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

// ExamineIn is Examine in a world of a test.
func ExamineIn(ctx context.Context, c config.Config, e Exam, w World) []Finding {
	d := newDoctor(c, e)
	defer d.transport.CloseIdleConnections()
	if w.Now != nil {
		d.now = w.Now
	}
	if w.Lookup != nil {
		d.lookup = w.Lookup
	}
	if w.Dial != nil {
		d.transport.DialContext = w.Dial
	}
	d.transport.TLSClientConfig = w.TLS
	return d.examine(ctx)
}
