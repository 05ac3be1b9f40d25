package scope_test

import (
	"testing"

	"svc.dev/svc/service/scope"
)

func TestByIsReadAsItWasWritten(t *testing.T) {
	for _, c := range []struct {
		claims scope.Claims
		text   string
		by     scope.By
	}{
		{scope.Claims{Actor: "ada", ActorID: "acc_1", Authority: scope.Customer}, "ada customer acc_1", scope.By{Actor: "ada", Authority: "customer", Account: "acc_1"}},
		{scope.Claims{Actor: "ada", ActorID: "acc_1", Key: "key_1", Authority: scope.Customer}, "ada customer acc_1 key_1", scope.By{Actor: "ada", Authority: "customer", Account: "acc_1", Key: "key_1"}},
		{scope.Claims{Actor: "root", ActorID: "acc_2", Authority: scope.StaffAuth}, "root admin acc_2", scope.By{Actor: "root", Authority: "admin", Account: "acc_2"}},
		{scope.Claims{Actor: "ada", Authority: scope.Customer}, "ada", scope.By{Actor: "ada"}},
		{scope.Claims{Actor: "channel:github", Authority: scope.Customer}, "channel:github customer", scope.By{Actor: "channel:github", Authority: "customer"}},
		{scope.Claims{Actor: "channel:github", ActorID: "acc_1", Key: "key_1", Authority: scope.Customer}, "channel:github customer", scope.By{Actor: "channel:github", Authority: "customer"}},
		{scope.Claims{Actor: "channel:github", ActorID: "acc_1", Authority: scope.StaffAuth}, "channel:github", scope.By{Actor: "channel:github"}},
		{scope.Claims{Actor: "channel:", Authority: scope.Customer}, "channel:", scope.By{Actor: "channel:"}},
		{scope.Claims{Actor: "automation:1", Authority: scope.Customer}, "automation:1", scope.By{Actor: "automation:1"}},
	} {
		text := c.claims.By().String()
		if text != c.text {
			t.Errorf("%+v is written %q, want %q", c.claims, text, c.text)
		}
		if by := scope.ParseBy(text); by != c.by {
			t.Errorf("%q is read as %+v", text, by)
		}
	}
}

// TestByOfAStrangerIsNobodyOfOurs reads what others have put into names.
func TestByOfAStrangerIsNobodyOfOurs(t *testing.T) {
	for _, text := range []string{
		"", " ", "ada", "ada customer", "channel:x admin acc_1", "github:mona admin acc_1", "automation:1 admin acc_1 key_1", "a b c d e",
		"channel: admin acc_1", ": admin acc_1", "channel:github", "channel: customer", "channel:x admin", "channel:x customer acc_1", "channel:x  customer",
		"channel:x:y customer", "github:mona customer", "github:channel:github customer", " channel:github customer", "automation:1 customer", "ada customer",
	} {
		if by := scope.ParseBy(text); by.Account != "" || by.Key != "" || by.Authority != "" || by.Channel() != "" || by.Actor != text {
			t.Errorf("%q is %+v", text, by)
		}
	}
}

func FuzzParseBy(f *testing.F) {
	for _, text := range []string{"", "ada", "ada customer acc_1 key_1", "channel:x admin acc_1", "channel:x customer", "a  b", " a b c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		by := scope.ParseBy(text)
		if by.Account != "" && !scope.Person(by.Actor) {
			t.Errorf("%q is a person by name of %q", text, by.Actor)
		}
		if by.Channel() != "" && text != scope.Channel(by.Channel())+" "+scope.Customer {
			t.Errorf("%q is the channel %q", text, by.Channel())
		}
		if again := scope.ParseBy(by.String()); again != by && by.Account != "" && by.Key != "" {
			t.Errorf("%q is %+v, and then %+v", text, by, again)
		}
	})
}
