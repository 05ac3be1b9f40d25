// Command modelserver is a model server of one's own, as many are run in private: it speaks as OpenAI does, wants a key, and its
// one model says every word back.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"strings"
	"time"
)

const model = "echo"

// question is what is read of a request.
type question struct {
	Messages []struct {
		Content any `json:"content"`
	} `json:"messages"`
}

// last is the text of the last message, which is a text or a list of parts.
func (q question) last() string {
	if len(q.Messages) == 0 {
		return ""
	}
	text, isText := q.Messages[len(q.Messages)-1].Content.(string)
	parts, _ := q.Messages[len(q.Messages)-1].Content.([]any)
	for _, p := range parts {
		if part, _ := p.(map[string]any); !isText && part["type"] == "text" {
			text += fmt.Sprint(part["text"])
		}
	}
	return text
}

// chunk is a piece of an answer.
func chunk(delta map[string]string, finish any) map[string]any {
	return map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": time.Now().Unix(), "model": model,
		"choices": []map[string]any{{"index": 0, "delta": delta, "finish_reason": finish}},
	}
}

// answer streams what was said last, word by word.
func answer(w http.ResponseWriter, r *http.Request) {
	var q question
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&q); err != nil {
		http.Error(w, `{"error":{"message":"the body is no JSON"}}`, http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(v any) {
		data, _ := json.Marshal(v) // of maps and texts alone
		fmt.Fprintf(w, "data: %s\n\n", data)
		_ = http.NewResponseController(w).Flush() // who has gone needs no answer
	}
	words := strings.SplitAfter("You said: "+q.last(), " ")
	for _, word := range words {
		send(chunk(map[string]string{"content": word}, nil))
	}
	send(chunk(map[string]string{}, "stop"))
	send(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": time.Now().Unix(), "model": model, "choices": []any{},
		"usage": map[string]int{"prompt_tokens": len(q.last()) / 4, "completion_tokens": len(words), "total_tokens": len(q.last())/4 + len(words)},
	})
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// list names the one model.
func list(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"object":"list","data":[{"id":%q,"object":"model"}]}`, model)
}

// keyed lets in who has the key.
func keyed(key string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			http.Error(w, `{"error":{"message":"wrong key","code":"invalid_api_key"}}`, http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func main() {
	listen := flag.String("listen", "127.0.0.1:11434", "where to listen")
	key := flag.String("key", "a-key-of-my-own", "what clients show")
	flag.Parse()
	routes := http.NewServeMux()
	routes.HandleFunc("POST /v1/chat/completions", answer)
	routes.HandleFunc("GET /v1/models", list)
	server := http.Server{Addr: *listen, Handler: keyed(*key, routes), ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(server.ListenAndServe())
}
