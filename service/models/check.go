package models

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"svc.dev/svc/internal/outward"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/model"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/redact"
	"svc.dev/svc/service/strictjson"
)

// The results of a check.
const (
	OK               = "ok"
	KeyRefused       = "key_refused"
	Unreachable      = "unreachable"
	ModelUnknown     = "model_unknown"
	AddressForbidden = "address_forbidden"
)

const (
	checkTime  = 20 * time.Second // of a whole check
	checkWords = 64               // tokens that its answer may have
	maxMessage = 500              // bytes of a message that are kept
)

// Test asks a provider for a word, as an agent of the scope would, and keeps what came of it, unless the provider was set otherwise
// meanwhile.
func (m *Models) Test(ctx context.Context, scope string, by audit.Actor, provider string) (c ModelCheck, err error) {
	if err := exists(provider); err != nil {
		return c, err
	}
	w, err := m.way(ctx, scope, provider)
	if err != nil {
		return c, err
	}
	began := time.Now()
	var answered string
	c.Result, c.Message, answered = m.try(ctx, scope, w)
	if ctx.Err() != nil {
		return c, context.Cause(ctx)
	}
	c.LatencyMs, c.CheckedAt, c.Message = time.Since(began).Milliseconds(), iso.At(m.Now()), w.plain(c.Message)
	return c, m.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if err := m.keep(tx, scope, w, answered, c); err != nil {
			return err
		}
		return m.note(ctx, tx, scope, by, "model.checked", provider)
	})
}

// keep writes down what a check of a way came to. Of another way it says nothing. The model that answered is not forgotten when a later
// check fails: agents ask it.
func (m *Models) keep(tx *sqldb.Tx, scope string, tested way, answered string, c ModelCheck) error {
	if err := makeRow(tx, scope, tested.provider); err != nil {
		return err
	}
	now, err := m.wayIn(tx, scope, tested.provider, tx.ForUpdate())
	if err != nil || now != tested {
		return err
	}
	return tx.Do("keep check", `UPDATE model_providers SET checked_at = $3, result = $4, message = $5, latency_ms = $6,
answered = CASE WHEN $7 = '' THEN answered ELSE $7 END WHERE scope = $1 AND provider = $2`,
		scope, tested.provider, c.CheckedAt.UnixMilli(), c.Result, c.Message, c.LatencyMs, answered)
}

// try makes the call, and says which model has answered.
func (m *Models) try(ctx context.Context, scope string, w way) (result, message, answered string) {
	name, err := m.call(ctx, scope, w)
	if err != nil {
		result, message = outcome(err)
		return result, message, ""
	}
	return OK, name + " answers.", name
}

func (m *Models) call(ctx context.Context, scope string, w way) (name string, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	if err := m.passable(scope, w); err != nil {
		return "", err
	}
	m.use(ctx, scope, w)
	if name, err = m.checked(ctx, scope, w); err != nil {
		return "", err
	}
	hello := model.Message{Role: model.RoleUser, Parts: []model.Part{model.Text("Answer with the word ok.")}}
	for _, err := range m.speaker(scope, w).Turn(ctx, model.Request{Model: name, Messages: []model.Message{hello}, MaxTokens: checkWords}) {
		if err != nil {
			return "", err
		}
	}
	return name, nil
}

// checked is the model that a check asks: the default of the scope where it is one of the provider's, else a cheap one, and of
// another server that speaks as OpenAI does the first that it names, unless somebody chose one.
func (m *Models) checked(ctx context.Context, scope string, w way) (string, error) {
	d, err := m.chosen(ctx, scope)
	if err != nil {
		return "", err
	}
	if id, of := strings.CutPrefix(d.Model, w.provider+"/"); of && !(d.Source == OfKey && w.keyless()) {
		return id, nil
	}
	if !w.keyless() {
		return protocols[w.provider].cheap, nil
	}
	return m.firstNamed(ctx, w)
}

// maxListed bounds the answer of a server that lists its models.
const maxListed = 1 << 20

func (m *Models) firstNamed(ctx context.Context, w way) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(w.url, "/")+"/models", nil)
	if err != nil {
		return "", err
	}
	if w.key != "" {
		r.Header.Set("Authorization", "Bearer "+w.key)
	}
	answer, err := m.Guard.Client().Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden {
		return "", &model.Error{Class: model.Unauthorized, Status: answer.StatusCode, Message: "The server refuses the key."}
	}
	var all struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.NewDecoder(io.LimitReader(answer.Body, maxListed)).Decode(&all) != nil || len(all.Data) == 0 || !w.names(all.Data[0].ID) {
		return "", &model.Error{Class: model.Rejected, Status: http.StatusNotFound, Message: "The server names no model that can be asked: choose one as the default, as openai/<model>."}
	}
	return all.Data[0].ID, nil
}

// names reports whether what a server calls a model can be a name: one line, not too long, and not the key said back.
func (w way) names(id string) bool {
	return strictjson.CheckLine(id, 1, maxName-len(w.provider)-1) == "" && w.plain(id) == id
}

// plain is what others may have written, as it is kept and shown: on one line, cut, and without the key in any of its forms.
func (w way) plain(text string) string {
	known := redact.New()
	known.Add([]byte(w.key))
	return sqldb.Text(known.Text(text), maxMessage)
}

// outcome is what a failure says about how a provider was set up.
func outcome(err error) (result, message string) {
	e, ok := errors.AsType[*model.Error](err)
	switch {
	case errors.Is(err, outward.ErrForbidden):
		return AddressForbidden, forbidden("the provider").Message
	case !ok && errors.Is(err, context.DeadlineExceeded):
		return Unreachable, "The provider did not answer in time."
	case !ok:
		return Unreachable, "The provider cannot be reached. A name of a private network leads there only where the operator allows it by model.allow_private."
	case e.Class == model.Unauthorized:
		result = KeyRefused
	case e.Status == http.StatusNotFound:
		result = ModelUnknown
	default:
		result = Unreachable
	}
	return result, e.Message
}
