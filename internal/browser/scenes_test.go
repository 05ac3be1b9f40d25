package browser

import (
	"testing"

	"svc.dev/svc/service/account/githubtest"
	"svc.dev/svc/service/mail/mailtest"
)

// mails are the settings of a service that sends them.
func mails(server *mailtest.Server) []string {
	return []string{"SVC_SMTP_URL=" + server.URL(), "SVC_SMTP_FROM=svc@example.com"}
}

// hubs are the settings of a service that knows this GitHub; nil: it knows none.
func hubs(hub *githubtest.Server) []string {
	if hub == nil {
		return nil
	}
	return []string{"SVC_GITHUB_URL=" + hub.URL, "SVC_GITHUB_API_URL=" + hub.URL}
}

func TestFirstAdministratorComesInByTheLink(t *testing.T) {
	enter(t)
	newScene(serve(t)).play(t, "first.mjs")
}

func TestGitHubIsSetUpAndUsedWithoutARestart(t *testing.T) {
	enter(t)
	hub := githubtest.New(t, githubtest.WithPages())
	s := newScene(serve(t, hubs(hub)...))
	s.withGitHub(t, hub, "")
	s.play(t, "provider.mjs")
}

func TestSetUpThatFailsSaysWhy(t *testing.T) {
	enter(t)
	hub := githubtest.New(t, githubtest.WithPages())
	s := newScene(serve(t, hubs(hub)...))
	s.withGitHub(t, hub, "")
	s.play(t, "trouble.mjs")
}

func TestPeopleSignUpAndComeBack(t *testing.T) {
	enter(t)
	post := mailtest.Start(t, mailtest.Options{})
	s := newScene(serve(t, mails(post)...))
	s.withMail(t, post)
	s.play(t, "entry.mjs")
}

func TestPagesWorkWithoutScripts(t *testing.T) {
	enter(t)
	post := mailtest.Start(t, mailtest.Options{})
	s := newScene(serve(t, mails(post)...))
	s.withMail(t, post)
	s.play(t, "plain.mjs")
}

func TestAccountIsLookedAfter(t *testing.T) {
	enter(t)
	post := mailtest.Start(t, mailtest.Options{})
	s := newScene(serve(t, mails(post)...))
	s.withMail(t, post)
	s.withPrograms(t)
	s.play(t, "account.mjs")
}

func TestUnconfiguredProviderSaysSo(t *testing.T) {
	enter(t)
	newScene(serve(t)).play(t, "unconfigured.mjs")
}

func TestGitHubIsLinkedByThePasswordAlone(t *testing.T) {
	enter(t)
	post, hub := mailtest.Start(t, mailtest.Options{}), githubtest.New(t, githubtest.WithPages())
	s := newScene(serve(t, append(mails(post), hubs(hub)...)...))
	s.withMail(t, post)
	s.withGitHub(t, hub, "")
	s.play(t, "link.mjs")
}

func TestUnprovenAddressStaysWhereItIs(t *testing.T) {
	enter(t)
	hub := githubtest.New(t, githubtest.WithPages())
	s := newScene(serve(t, hubs(hub)...))
	s.withGitHub(t, hub, "")
	s.play(t, "separate.mjs")
}

// Only behind https does GitHub tell the service anything.
func TestRevokedConnectionIsToldInProduction(t *testing.T) {
	enter(t)
	hub, f := githubtest.New(t, githubtest.WithPages()), newFront(t)
	service := serve(t, append(f.settings(), hubs(hub)...)...)
	f.open(t, service)
	s := newScene(service)
	s.withGitHub(t, hub, f.hook.URL+"/api/auth/oauth/github/webhook")
	s.play(t, "production.mjs")
}

// Whoever came in a while ago proves again who they are before what is sensitive.
func TestSensitiveActsAskAgain(t *testing.T) {
	enter(t)
	newScene(serve(t, "SVC_SESSION_REAUTH=5s")).play(t, "reauth.mjs")
}

func TestSetUpEndsWithInstallation(t *testing.T) {
	enter(t)
	hub := githubtest.New(t, githubtest.WithPages())
	s := newScene(serve(t, hubs(hub)...))
	s.withGitHub(t, hub, "")
	s.play(t, "install.mjs")
}

func TestAWorkspaceIsMadeAndJoined(t *testing.T) {
	enter(t)
	s := newScene(serve(t))
	s.withPrograms(t)
	s.play(t, "workspaces.mjs")
}

func TestADeviceIsConnected(t *testing.T) {
	enter(t)
	s := newScene(serve(t))
	s.withPrograms(t)
	s.play(t, "device.mjs")
}
