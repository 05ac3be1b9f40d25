package page

import "strings"

// browsers and systems are looked for in this order: a later one's name stands in the user agents of earlier ones too.
var (
	browsers = [][2]string{
		{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"},
		{"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"}, {"Go-http-client/", "A Go program"},
	}
	systems = [][2]string{
		{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"CrOS", "ChromeOS"}, {"Windows", "Windows"},
		{"Mac OS X", "macOS"}, {"Macintosh", "macOS"}, {"Linux", "Linux"},
	}
)

// device names what a user agent stands for, as far as it tells: "Firefox on Linux".
func device(userAgent string) string {
	browser, system := match(browsers, userAgent), match(systems, userAgent)
	switch {
	case browser != "" && system != "":
		return browser + " on " + system
	case browser != "":
		return browser
	case system != "":
		return "A program on " + system
	}
	return "Unknown device"
}

func match(names [][2]string, userAgent string) string {
	for _, n := range names {
		if strings.Contains(userAgent, n[0]) {
			return n[1]
		}
	}
	return ""
}
