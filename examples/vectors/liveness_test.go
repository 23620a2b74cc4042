// The liveness vectors in a runtime's own unit tests, in Go: go test
// LIVENESS names another place of liveness.json than a checkout's. Standard library only.
package liveness

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

type vector struct {
	Name    string   `json:"name"`
	Status  int      `json:"status"`
	Body    []byte   `json:"body_base64"`
	Parts   []part   `json:"parts"`
	Failure string   `json:"failure"`
	Allowed []string `json:"allowed"`
	Why     string   `json:"why"`
}

type part struct {
	Text  string `json:"text"`
	Times *int   `json:"times"`
}

func (v vector) body() []byte {
	if v.Parts == nil {
		return v.Body
	}
	var whole strings.Builder
	for _, piece := range v.Parts {
		times := 1
		if piece.Times != nil {
			times = *piece.Times
		}
		whole.WriteString(strings.Repeat(piece.Text, times))
	}
	return []byte(whole.String())
}

// How a runtime reads a whole answer; yours goes here. A map, since a struct's keys match in any case.
func readLiveness(status int, body []byte) string {
	if status >= 400 && status < 500 {
		return "gone"
	}
	if status < 200 || status > 299 {
		return "unknown"
	}
	var answer map[string]any
	if !utf8.Valid(body) || json.Unmarshal(body, &answer) != nil || answer["alive"] != true {
		return "gone"
	}
	return "alive"
}

func vectors(t *testing.T) (whole, failing []vector) {
	place := os.Getenv("LIVENESS")
	if place == "" {
		place = "../../fixtures/payloads/liveness.json"
	}
	text, err := os.ReadFile(place)
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if one.Failure == "" {
			whole = append(whole, one)
		} else {
			failing = append(failing, one)
		}
	}
	return whole, failing
}

func TestWholeAnswers(t *testing.T) {
	whole, _ := vectors(t)
	if len(whole) < 150 {
		t.Fatalf("only %d", len(whole))
	}
	for _, one := range whole {
		t.Run(one.Name, func(t *testing.T) {
			if reading := readLiveness(one.Status, one.body()); !slices.Contains(one.Allowed, reading) {
				t.Errorf("%s, not %s: %s", reading, strings.Join(one.Allowed, " or "), one.Why)
			}
		})
	}
}

func TestWhatGivesNoWholeAnswerIsUnknown(t *testing.T) {
	_, failing := vectors(t) // these are played on a socket
	if len(failing) < 20 {
		t.Fatalf("only %d", len(failing))
	}
	for _, one := range failing {
		if !slices.Contains(one.Allowed, "unknown") {
			t.Error(one.Name)
		}
	}
}
