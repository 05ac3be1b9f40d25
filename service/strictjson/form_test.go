package strictjson_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/strictjson"
)

// page is the form of a page: the fields of the JSON route, and one more.
type page struct {
	Email    string  `json:"email"`
	Password string  `json:"password" text:"any"`
	Username *string `json:"username"`
	Keep     bool    `json:"keep,omitzero"`
	ReturnTo string  `json:"returnTo,omitzero"`
}

func TestAFormFillsItsStruct(t *testing.T) {
	var got page
	body := "email=ada%40example.com&password=p%C3%A4+%F0%9F%98%80%00%26%3D%2B&username=ada&keep=on&returnTo=%2Fa%3Bb"
	if err := strictjson.Form([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if got.Email != "ada@example.com" || got.Password != "pä 😀\x00&=+" || *got.Username != "ada" || !got.Keep || got.ReturnTo != "/a;b" {
		t.Errorf("got %+v", got)
	}
}

func TestWhatAFormDoesNotSayIsEmpty(t *testing.T) {
	for _, body := range []string{"", "email", "email=", "password=", "keep=", "keep=false"} {
		old := "old"
		got := page{Email: "old", Username: &old, Keep: true}
		if err := strictjson.Form([]byte(body), &got); err != nil || got != (page{}) {
			t.Errorf("%q: %+v, %v", body, got, err)
		}
	}
}

// An empty field that may be missing is there: somebody has emptied it.
func TestAnEmptyFieldIsNoMissingOne(t *testing.T) {
	var got page
	if err := strictjson.Form([]byte("username="), &got); err != nil || got.Username == nil || *got.Username != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAFormFillsNumbersAndWhatJSONWritesInSeveralWays(t *testing.T) {
	type rotation struct {
		Grace int64           `json:"grace,omitzero"`
		Ends  json.RawMessage `json:"ends,omitzero"`
	}
	for body, want := range map[string]rotation{
		"grace=3600&ends=2026-01-02T03%3A04%3A05Z": {3600, json.RawMessage(`"2026-01-02T03:04:05Z"`)},
		"grace=-1&ends=%22":                        {-1, json.RawMessage(`"\""`)},
		"grace=&ends=":                             {},
		"":                                         {},
	} {
		var got rotation
		if err := strictjson.Form([]byte(body), &got); err != nil || got.Grace != want.Grace || string(got.Ends) != string(want.Ends) {
			t.Errorf("%q: %+v, %v", body, got, err)
		}
	}
	for _, body := range []string{"grace=x", "grace=1.5", "grace=99999999999999999999", "grace=1&grace=2"} {
		expectFields(t, strictjson.Form([]byte(body), new(rotation)), []string{"grace"})
	}
}

func TestWhatOthersReadOfAFormIsLookedAtToo(t *testing.T) {
	var got page
	if err := strictjson.Form([]byte("email=e&ticket=t&join="), &got, "ticket", "join"); err != nil || got.Email != "e" {
		t.Errorf("%+v, %v", got, err)
	}
	for body, fields := range map[string][]string{
		"ticket=a&ticket=b": {"ticket"}, "ticket=%": {"ticket"}, "ticket=a&other=b": {"other"}, "ticket=\xff": {"ticket"},
	} {
		expectFields(t, strictjson.Form([]byte(body), &got, "ticket"), fields)
	}
}

// badForms are the bodies that are refused, with the fields that are named.
var badForms = map[string][]string{
	"email=a&email=b":              {"email"},
	"email=a&email=a":              {"email"},
	"email=a&e%6dail=b":            {"email"},
	"email=a&email":                {"email"},
	"email=&email=":                {"email"},
	"password=p&email=a&password=": {"password"},
	"Email=a":                      {"Email"},
	"pa%C5%BF%C5%BFword=p":         {"paſſword"},
	"passw%6Frd=p&admin=true":      {"admin"},
	"email%00=a":                   {"email\x00"},
	"+email=a":                     {" email"},
	"email[]=a":                    {"email[]"},
	"email=%":                      {"email"},
	"email=%4":                     {"email"},
	"email=%zz":                    {"email"},
	"password=%u0041":              {"password"},
	"password=%FF":                 {"password"},
	"password=%C0%AF":              {"password"},
	"password=%ED%A0%80":           {"password"},
	"password=\xff":                {"password"},
	"email=a;password=p":           {"email"},
	"keep=1":                       {"keep"},
	"keep=TRUE":                    {"keep"},
	"keep=on&keep=on":              {"keep"},
	"%FF=a":                        {},
	"%=a":                          {},
	"e;mail=a":                     {},
	"=a":                           {},
	"&":                            {},
	"email=a&&password=p":          {},
	"email=a&":                     {},
	"x=1&returnTo=%&password=%&email=a&email=a&y=1": {"email", "password", "returnTo", "x", "y"},
	`{"email":"a"}`: {`{"email":"a"}`},
}

func TestAFormThatIsNotTheRequestNamesItsFields(t *testing.T) {
	for body, fields := range badForms {
		t.Run(body, func(t *testing.T) {
			got := page{Email: "before"}
			expectFields(t, strictjson.Form([]byte(body), &got), fields)
			if got != (page{Email: "before"}) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAFormOfManyPairsIsRefusedShortly(t *testing.T) {
	var got page
	err := strictjson.Form([]byte(strings.Repeat("email=a&x=y&", 100_000)+"z"), &got)
	if fields := fault.From(err).Meta["fields"].([]strictjson.Field); len(fields) != 17 {
		t.Errorf("%d fields are named", len(fields))
	}
}

func TestAFormHasNoMapsAndNoMissingNumbers(t *testing.T) {
	for _, into := range []any{new(everything), &struct {
		N *int64 `json:"n"`
	}{}} {
		if err := strictjson.Form(nil, into); err == nil || strings.HasPrefix(err.Error(), "invalid") {
			t.Errorf("got %v", err)
		}
	}
}

func TestAListTakesEveryValueOfItsName(t *testing.T) {
	var got struct {
		Name   string   `json:"name"`
		Scopes []string `json:"scopes"`
	}
	if err := strictjson.Form([]byte("scopes=a%3Ab&name=n&scopes=c"), &got); err != nil || got.Name != "n" || !slices.Equal(got.Scopes, []string{"a:b", "c"}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := strictjson.Form([]byte("name=n"), &got); err != nil || len(got.Scopes) != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := strictjson.Form([]byte(strings.Repeat("scopes=a&", 64)+"scopes=a"), &got); err == nil {
		t.Error("65 values were taken")
	}
}
