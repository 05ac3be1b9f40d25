package scope

import (
	"crypto/ed25519"
	"sync"
	"testing"

	"svc.dev/svc/fault"
)

const newToken = "the token of tomorrow, thirty-two bytes also"

// guardOf is a guard of tokens, with the keys and the admin token of a pair.
func guardOf(t *testing.T, p *pair, keys []ed25519.PublicKey, tokens ...string) *Guard {
	t.Helper()
	g, err := NewGuard(tokens, []string{adminToken}, keys)
	if err != nil {
		t.Fatal(err)
	}
	g.Now = p.Guard.Now
	return g
}

func TestAReplacedTokenCountsNoMore(t *testing.T) {
	p := newPair(t)
	before := p.signed(t, ada, "{}")
	again := before.Clone(t.Context())
	if _, err := p.Check(before); err != nil {
		t.Fatal(err)
	}
	keys := p.Guard.Keys
	p.Guard.Replace(guardOf(t, p, keys, newToken, goodToken))
	// Nothing can be said twice because a token changed.
	if _, err := p.Check(again); refusal(err) != fault.AssertionInvalid {
		t.Errorf("said twice: %v", err)
	}
	if _, err := p.Check(p.signed(t, ada, "{}")); err != nil {
		t.Errorf("the old token is accepted still: %v", err)
	}
	p.Forward.Replace(&Forward{Token: newToken, AdminToken: adminToken, Key: p.Forward.Key})
	p.Guard.Replace(guardOf(t, p, keys, newToken))
	r := p.signed(t, ada, "{}")
	if r.Header.Get(HeaderToken) != newToken {
		t.Error("the gateway says the old token")
	}
	if _, err := p.Check(r); err != nil {
		t.Errorf("the new token: %v", err)
	}
	r = p.signed(t, ada, "{}")
	r.Header.Set(HeaderToken, goodToken)
	if _, err := p.Check(r); refusal(err) != fault.RuntimeUnauthorized {
		t.Errorf("the token of before: %v", err)
	}
}

func TestAReplacedKeyCountsNoMore(t *testing.T) {
	p := newPair(t)
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	old := p.signed(t, ada, "{}")
	p.Guard.Replace(guardOf(t, p, []ed25519.PublicKey{public}, goodToken))
	if _, err := p.Check(old); refusal(err) != fault.AssertionInvalid {
		t.Errorf("the old key: %v", err)
	}
	p.Forward.Replace(&Forward{Token: goodToken, AdminToken: adminToken, Key: private})
	if _, err := p.Check(p.signed(t, ada, "{}")); err != nil {
		t.Errorf("the new key: %v", err)
	}
}

// In the order of the contract, the runtime first, nobody is refused at any moment.
func TestNobodyIsRefusedWhileATokenIsReplaced(t *testing.T) {
	p := newPair(t)
	keys := p.Guard.Keys
	stop := make(chan struct{})
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				r := ask("{}")
				if err := p.Sign(r, ada); err != nil {
					t.Error(err)
				}
				if _, err := p.Check(r); err != nil {
					t.Errorf("refused: %v", err)
				}
			}
		})
	}
	// Both are accepted before one is said, as long as that lasts: what is on its way with the other is not lost.
	p.Guard.Replace(guardOf(t, p, keys, goodToken, newToken))
	for range 100 {
		p.Forward.Replace(&Forward{Token: newToken, AdminToken: adminToken, Key: p.Forward.Key})
		p.Guard.Replace(guardOf(t, p, keys, newToken, goodToken))
		p.Forward.Replace(&Forward{Token: goodToken, AdminToken: adminToken, Key: p.Forward.Key})
		p.Guard.Replace(guardOf(t, p, keys, goodToken, newToken))
	}
	close(stop)
	asking.Wait()
}
