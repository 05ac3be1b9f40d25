package strictjson_test

import (
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
	for _, body := range []string{"", "email", "email=", "username=&password=", "keep=", "keep=false"} {
		old := "old"
		got := page{Email: "old", Username: &old, Keep: true}
		if err := strictjson.Form([]byte(body), &got); err != nil || got != (page{}) {
			t.Errorf("%q: %+v, %v", body, got, err)
		}
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

func TestAFormHasNoListsAndNumbers(t *testing.T) {
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
