package outward

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// fresh is how long the addresses of this machine are taken for what they were.
const fresh = 5 * time.Second

// own are the addresses of this machine, asked for now and then.
type own struct {
	ask func() ([]net.Addr, error)

	mu    sync.Mutex
	known map[netip.Addr]bool // nil: never told
	at    time.Time
}

func newOwn(ask func() ([]net.Addr, error)) *own {
	if ask == nil {
		ask = net.InterfaceAddrs
	}
	return &own{ask: ask}
}

// refuse refuses an address of this machine, and every address while its own cannot be told.
func (o *own) refuse(address netip.Addr) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.at) >= fresh {
		if err := o.look(); err != nil && o.known == nil {
			return fmt.Errorf("%w: the addresses of this machine are not known: %w", ErrForbidden, err)
		}
	}
	if o.known[address] {
		return ErrForbidden
	}
	return nil
}

func (o *own) look() error {
	all, err := o.ask()
	if err != nil {
		return err
	}
	o.known, o.at = map[netip.Addr]bool{}, time.Now()
	for _, a := range all {
		if network, ok := a.(*net.IPNet); ok {
			address, _ := netip.AddrFromSlice(network.IP)
			o.known[address.Unmap().WithZone("")] = true
		}
	}
	return nil
}
