package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"svc.dev/svc"
	"svc.dev/svc/channel/webhook"
)

// printer is an inbox that prints; a program gives the channel its Runtime.
type printer struct{}

func (printer) Dispatch(_ context.Context, agent, id string, p svc.Prompt) (svc.Prompted, error) {
	fmt.Println(agent, id, p.Message.Body)
	return svc.Prompted{}, nil
}

// What is signed with the secret becomes a message; what is not is refused.
func ExampleNew() {
	secret := []byte("a secret that both know")
	c := webhook.New(webhook.Config{
		Agent: "clerk", Inbox: printer{},
		Secret: func(context.Context) ([][]byte, error) { return [][]byte{secret}, nil },
	})
	body := `{"instance": "42", "text": "Hello"}`
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(body))
	for _, signature := range []string{hex.EncodeToString(mac.Sum(nil)), "guessed"} {
		r := httptest.NewRequest(http.MethodPost, "/channels/webhook/in", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Delivery-Id", "1")
		r.Header.Set("X-Signature", "sha256="+signature)
		answer := httptest.NewRecorder()
		c.Routes[0].Handler.ServeHTTP(answer, r)
		fmt.Println(answer.Code)
	}
	// Output:
	// clerk 42 Hello
	// 202
	// 401
}
