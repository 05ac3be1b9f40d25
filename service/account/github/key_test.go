package github_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"svc.dev/svc/service/account/github"
)

// Keys that an app must not sign with.
var (
	shortKey = encodeKey("RSA PRIVATE KEY", func() ([]byte, error) {
		key, err := rsa.GenerateKey(rand.Reader, 1024)
		return x509.MarshalPKCS1PrivateKey(key), err
	})
	ellipticKey = encodeKey("PRIVATE KEY", func() ([]byte, error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		return x509.MarshalPKCS8PrivateKey(key)
	})
)

func encodeKey(kind string, make func() ([]byte, error)) string {
	der, err := make()
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func TestProofIsDatedBackAndShort(t *testing.T) {
	s := start(t)
	now := time.Unix(1790000000, 0)
	g := client(t, github.Config{Now: func() time.Time { return now }})
	text, err := g.AppJWT(s.app)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		t.Fatal(err)
	}
	var claims map[string]any
	if err := token.UnsafeClaimsWithoutVerification(&claims); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("map[exp:%v iat:%v iss:%d]", float64(1790000540), float64(1789999940), s.app.ID)
	if got := fmt.Sprint(claims); got != want {
		t.Errorf("claims %s, want %s", got, want)
	}
}

func TestKeyOfEitherEncodingSigns(t *testing.T) {
	s := start(t)
	block, _ := pem.Decode([]byte(s.app.PEM))
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	app := s.app
	app.PEM = encodeKey("PRIVATE KEY", func() ([]byte, error) { return x509.MarshalPKCS8PrivateKey(key) })
	id := s.fake.AddInstallation(installationOf(app.ID))
	if _, err := s.Installation(t.Context(), app, id); err != nil {
		t.Error(err)
	}
}

func TestCredentialsPrintAsNothing(t *testing.T) {
	s := start(t)
	tokens := s.signIn(t, 583231)
	var b strings.Builder
	for _, v := range []any{s.app, tokens, &s.app, &tokens, []any{s.app, tokens}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			fmt.Fprintf(&b, verb, v)
		}
		slog.New(slog.NewTextHandler(&b, nil)).Info("seen", "value", v)
	}
	for _, v := range []any{s.app, tokens} {
		slog.New(slog.NewJSONHandler(&b, nil)).Info("seen", "value", v)
	}
	for _, secret := range []string{tokens.Access, tokens.Refresh, s.app.ClientSecret, "BEGIN"} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("%s is printed", secret)
		}
	}
	// What is stored must be whole.
	if text, err := json.Marshal(tokens); err != nil || !strings.Contains(string(text), tokens.Access) {
		t.Errorf("%s, %v", text, err)
	}
}
