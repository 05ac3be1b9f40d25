package browser

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/model"
	"svc.dev/svc/model/modeltest"
	"svc.dev/svc/service/account/githubtest"
	"svc.dev/svc/service/mail/mailtest"
)

// walks are the scripts that go through the product with a company in it, and take pictures: of every page and state, and of those that
// docs/tour.md shows. make shots and make tour call them, and so does the soak.
const walks = "../../web/test/*.walk.mjs"

func TestCompanyIsLookedAt(t *testing.T) {
	files, err := filepath.Glob(walks)
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no walks: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".walk.mjs"), func(t *testing.T) {
			skipLong(t, file)
			enter(t)
			hub, post, company := githubtest.New(t, githubtest.WithPages()), mailtest.Start(t, mailtest.Options{}), newModel(t)
			service := serve(t, append(append(hubs(hub), mails(post)...), loopbackMCPs, company.setting(), everyoneFromElsewhere)...)
			s := newScene(service)
			s.withPrograms(t)
			s.withMCPs(t)
			s.withDeath(service)
			s.withMail(t, post)
			s.withGitHub(t, hub, "")
			s.withRepositories(t, hub)
			s.withModel(company)
			s.play(t, file)
		})
	}
}

// everyoneFromElsewhere lets a script say where a request comes from: an address may sign up five times an hour.
const everyoneFromElsewhere = "SVC_TRUSTED_PROXIES=127.0.0.1/32"

// scriptedModel is a provider of models whose answers a script has written.
type scriptedModel struct {
	server *modeltest.Server
	lines  []line
}

// line is what is answered to a text that begins so: a reply for each turn until the text is answered.
type line struct {
	To    string
	Turns []struct {
		Think, Say string
		Calls      []struct {
			Name  string
			Input json.RawMessage
		}
		Delay   int  // in milliseconds, before the first word
		Refuses bool // the provider has no time for this
		Hangs   bool // says what it has to say, and then nothing until it is stopped
	}
}

func newModel(t *testing.T) *scriptedModel {
	m := &scriptedModel{}
	m.server = modeltest.Answering(t, modeltest.Anthropic, m.answer)
	return m
}

// setting is that of a service that may ask the model.
func (m *scriptedModel) setting() string {
	return "SVC_MODEL_ALLOW_PRIVATE=" + strings.TrimPrefix(m.server.URL, "http://")
}

// withModel lets a script say what the model answers. A text that no line is for is answered with a word.
func (s *scene) withModel(m *scriptedModel) {
	s.given["model"] = map[string]string{"url": m.server.URL, "key": modeltest.Key}
	on(s, "answers", func(lines []line) (any, error) {
		m.lines = append(lines, m.lines...)
		return nil, nil
	})
}

func (m *scriptedModel) answer(r modeltest.Request) modeltest.Reply {
	text, turn := asked(r.Body)
	for _, l := range m.lines {
		if strings.HasPrefix(text, l.To) && turn < len(l.Turns) {
			return l.reply(turn, len(r.Body))
		}
	}
	return modeltest.Reply{Text: []string{"Good."}}
}

// reply is one turn. It counts a token for every four letters, as people do in their heads.
func (l line) reply(turn, sent int) modeltest.Reply {
	told := l.Turns[turn]
	r := modeltest.Reply{Delay: time.Duration(told.Delay) * time.Millisecond, Silent: told.Hangs}
	said := len(told.Think) + len(told.Say)
	if told.Think != "" {
		r.Reasoning, r.Signature = strings.SplitAfter(told.Think, " "), "c2lnbmVk"
	}
	if told.Say != "" {
		r.Text = strings.SplitAfter(told.Say, " ")
	}
	for i, c := range told.Calls {
		r.Calls = append(r.Calls, model.ToolCall{ID: "toolu_" + string(rune('a'+turn)) + string(rune('a'+i)), Name: c.Name, Input: c.Input})
		said += len(c.Input)
	}
	if told.Refuses {
		r.Fault = &modeltest.Fault{Kind: modeltest.BadRequest}
	}
	r.Usage = model.Usage{Input: sent / 4, Output: max(said/4, 1)}
	return r
}

// asked is what a person said last in a request, and how many turns have answered it already.
func asked(body []byte) (text string, turns int) {
	var request struct {
		Messages []struct {
			Role    string
			Content []struct{ Type, Text string }
		}
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return "", 0
	}
	for _, m := range request.Messages {
		turns++
		for _, block := range m.Content {
			if m.Role == "user" && block.Type == "text" {
				text, turns = block.Text, 0
			}
		}
	}
	return text, turns / 2
}

// withRepositories lets a script have a repository of an organization that octocat is in, with what its main branch holds.
func (s *scene) withRepositories(t *testing.T, hub *githubtest.Server) {
	on(s, "repository", func(of struct {
		Name  string
		Files map[string]string
	}) (any, error) {
		owner, name, _ := strings.Cut(of.Name, "/")
		organization := hub.AddOrganization(githubtest.Organization{Login: owner, Members: []int64{githubtest.Octocat}})
		hub.AddRepository(githubtest.Repository{Owner: organization, Name: name, Private: true})
		hub.Push(t, of.Name, of.Files)
		return nil, nil
	})
}
