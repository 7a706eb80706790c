// SPDX-License-Identifier: Apache-2.0

// Adapter kit of Code Mode Conformance, adapter protocol 1: one file to copy beside your adapter. Go 1.19 or newer.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"reflect"
	"regexp"
	"runtime/debug"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"
)

const nodes, depth, marks = 1 << 20, 256, 1000 // what a target hands over may have no bound of its own

var (
	fieldsOf = map[string]string{"hello": "v key", "open": "s policy ops", "run": "r s source options", "cancel": "r",
		"return": "r c ok present value odd error", "ping": "n", "close": "s", "stop": ""}
	capabilityOf = map[string]string{"timeout_ms": "options.timeout", "readonly": "options.readonly"}
)

// Object is a JSON object.
type Object = map[string]any

type absent struct{}

// Absent is no value at all, where nil is null.
var Absent any = absent{}

// HostError is the failure of a host call, as the harness scripted it.
type HostError struct{ Code, Message string }

func (e *HostError) Error() string { return e.Message }

// Outcome is how a run ended, or why a session was refused: made by Ok and Failed.
type Outcome Object

// Unsupported names the rows of a policy that cannot be set; Open gives it instead of a session.
type Unsupported []string

// Operation is one of those that a session's programs may call.
type Operation struct {
	Name, Effect string
	Arguments    any
}

// Session is one that Open opened. Close may be nil.
type Session struct {
	Effective Object // each row with its number and where that comes from
	Prelude   string
	Wrap      [2]string
	Unknown   []string
	Run       func(ctx context.Context, run *Run) Outcome
	Cancels   bool // a cancelled run has its context ended; without it the answer to cancel is unsupported
	Close     func()
}

// Run is one run of a session.
type Run struct {
	Source  string
	Options Object

	cancel  context.CancelFunc
	adapter *adapter
	session *Session
	r       json.RawMessage
	mutex   sync.Mutex
	last    int
	calls   map[int]chan reply
}

type reply struct {
	value any
	err   error
}

// Ok is the outcome of a program that ended with a value; Absent is success without one.
func Ok(value any, logs ...string) Outcome {
	outcome := Outcome{"ok": true}
	for name, part := range wire(value) {
		outcome[name] = part
	}
	if logs != nil {
		outcome["logs"] = logs
	}
	return outcome
}

// mostOfAText is how many bytes of an error's text are told: a program may throw a message of any length.
const mostOfAText = 1000000

func cut(text string) string {
	if len(text) > mostOfAText {
		return strings.ToValidUTF8(text[:mostOfAText], "")
	}
	return text
}

// Failed is the outcome of one that failed, and from Open a refusal; more may hold "error" and "logs".
func Failed(category string, err error, more Object) Outcome {
	native := Object{"name": reflect.Indirect(reflect.ValueOf(err)).Type().Name(), "message": cut(err.Error())}
	if host, is := err.(*HostError); is {
		native["code"] = host.Code
	}
	outcome := Outcome{"ok": false, "category": category, "native": native}
	for name, part := range more {
		outcome[name] = part
	}
	return outcome
}

// Call forwards one host call: the host's value, Absent where it has none, or a *HostError. When ctx ends first, the
// harness is told that the call was cancelled.
func (run *Run) Call(ctx context.Context, op string, args any) (any, error) {
	answer := make(chan reply, 1)
	run.mutex.Lock()
	run.last++
	c := run.last
	run.calls[c] = answer
	run.adapter.emit("call", Object{"r": run.r, "c": c, "op": op, "args": wire(args)})
	run.mutex.Unlock()
	select {
	case got := <-answer:
		return got.value, got.err
	case <-ctx.Done():
		if run.take(c) != nil && run.adapter.capabilities["call_cancelled"] {
			run.adapter.emit("call_cancelled", Object{"r": run.r, "c": c})
		}
		return nil, ctx.Err()
	}
}

func (run *Run) take(c int) chan reply {
	run.mutex.Lock()
	defer run.mutex.Unlock()
	waiting := run.calls[c]
	delete(run.calls, c)
	return waiting
}

// HostValues are the kinds that build makes: "host_values" of the identity.
var HostValues = []string{"NaN", "Infinity", "-Infinity", "-0", "bigint", "undefined", "function", "Date", "RegExp", "Map",
	"Error", "ArrayBuffer"}

func made(kind string, value any) (any, bool) {
	switch kind {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	case "-0":
		return math.Copysign(0, -1), true
	case "bigint":
		number, is := new(big.Int).SetString(fmt.Sprint(value), 10)
		if !is {
			number = big.NewInt(1<<53 + 1)
		}
		return number, true
	case "undefined":
		return Absent, true
	case "function":
		return func() {}, true
	case "Date":
		return time.Unix(0, 0).UTC(), true
	case "RegExp":
		return regexp.MustCompile("odd"), true
	case "Map":
		return map[int]any{1: 1.0}, true
	case "Error":
		return fmt.Errorf("odd"), true
	case "ArrayBuffer":
		return []byte{1}, true
	}
	return nil, false
}

type mark struct {
	path []any
	kind string
}

func (m mark) MarshalJSON() ([]byte, error) { return json.Marshal([]any{m.path, m.kind}) }

func (m *mark) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&m.path, &m.kind})
}

type walker struct {
	left  int
	odd   []mark
	above map[uintptr]bool
}

func (w *walker) note(path []any, kind string) any {
	if len(w.odd) < marks {
		w.odd = append(w.odd, mark{append([]any{}, path...), kind})
	}
	return nil
}

// walk gives what JSON can carry of a value, and notes each place where it loses something.
func (w *walker) walk(value any, path []any) any {
	if w.left--; w.left < 0 || len(path) > depth {
		return w.note(path, "unknown")
	}
	switch v := value.(type) {
	case nil, bool:
		return v
	case absent:
		return w.note(path, "undefined")
	case string:
		if !utf8.ValidString(v) {
			w.note(path, "lone_surrogate")
			return strings.ToValidUTF8(v, "\ufffd")
		}
		return v
	case float64:
		return w.number(v, path)
	case *big.Int:
		w.note(path, "bigint")
		return v.String()
	case time.Time:
		w.note(path, "Date")
		return v.UTC().Format("2006-01-02T15:04:05.000Z")
	case *regexp.Regexp:
		w.note(path, "RegExp")
		return v.String()
	case error:
		w.note(path, "Error")
		return Object{"message": v.Error()}
	case []byte:
		w.note(path, "ArrayBuffer")
		return w.list(reflect.ValueOf(v), path)
	}
	return w.other(reflect.ValueOf(value), path)
}

func (w *walker) number(v float64, path []any) any {
	switch {
	case math.IsNaN(v):
		return w.note(path, "NaN")
	case math.IsInf(v, 1):
		return w.note(path, "Infinity")
	case math.IsInf(v, -1):
		return w.note(path, "-Infinity")
	case v == 0 && math.Signbit(v):
		w.note(path, "-0")
		return 0
	}
	return v
}

func (w *walker) other(v reflect.Value, path []any) any {
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if n := v.Int(); int64(float64(n)) == n {
			return n
		}
		w.note(path, "bigint")
		return fmt.Sprint(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if n := v.Uint(); uint64(float64(n)) == n {
			return n
		}
		w.note(path, "bigint")
		return fmt.Sprint(v.Uint())
	case reflect.Float32:
		return w.number(v.Float(), path)
	case reflect.String:
		return w.walk(v.String(), path)
	case reflect.Func:
		return w.note(path, "function")
	case reflect.Array, reflect.Slice, reflect.Map:
		return w.compound(v, path)
	}
	return w.note(path, "unknown")
}

func (w *walker) compound(v reflect.Value, path []any) any {
	if v.Kind() != reflect.Array && v.Len() > 0 { // an empty one holds nothing, itself included
		at := v.Pointer()
		if w.above[at] {
			return w.note(path, "cycle")
		}
		w.above[at] = true
		defer delete(w.above, at)
	}
	if v.Kind() != reflect.Map {
		return w.list(v, path)
	}
	if v.Type().Key().Kind() != reflect.String {
		w.note(path, "Map")
		entries := []any{}
		for _, key := range v.MapKeys() {
			entries = append(entries, []any{key.Interface(), v.MapIndex(key).Interface()})
		}
		return w.walk(entries, path)
	}
	shown := Object{}
	keys := v.MapKeys()
	sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
	for _, key := range keys {
		name := strings.ToValidUTF8(key.String(), "\ufffd")
		at := append(path[:len(path):len(path)], name)
		if name != key.String() {
			w.note(at, "lone_surrogate")
		}
		shown[name] = w.walk(v.MapIndex(key).Interface(), at)
	}
	return shown
}

func (w *walker) list(v reflect.Value, path []any) any {
	if v.Len() > w.left {
		return w.note(path, "unknown")
	}
	shown := make([]any, v.Len())
	for i := range shown {
		shown[i] = w.walk(v.Index(i).Interface(), append(path[:len(path):len(path)], i))
	}
	return shown
}

func wire(value any) Object {
	if value == Absent {
		return Object{"present": false}
	}
	w := walker{left: nodes, above: map[uintptr]bool{}}
	told := Object{"present": true, "value": w.walk(value, nil)}
	if len(w.odd) > 0 {
		told["odd"] = w.odd
	}
	return told
}

// build makes in place the value that the harness described; the kinds that it cannot make are given instead.
func build(value any, odd []mark) (any, []string) {
	box, lacking := []any{value}, []string{}
	sort.SliceStable(odd, func(i, j int) bool { return len(odd[i].path) > len(odd[j].path) }) // the innermost first
	for _, one := range odd {
		var at any = box
		path := append([]any{0.0}, one.path...)
		for _, step := range path[:len(path)-1] {
			at = inside(at, step)
		}
		end := path[len(path)-1]
		kind, known := made(one.kind, inside(at, end))
		if !known {
			lacking = append(lacking, one.kind)
			continue
		}
		switch there := at.(type) {
		case []any:
			there[int(end.(float64))] = kind
		case Object:
			there[end.(string)] = kind
		}
	}
	return box[0], lacking
}

func inside(at, step any) any {
	switch there := at.(type) {
	case []any:
		return there[int(step.(float64))]
	case Object:
		return there[step.(string)]
	}
	return nil
}

type adapter struct {
	identity     Object
	capabilities map[string]bool
	open         func(policy Object, ops []Operation) any
	key          string
	writing      sync.Mutex
	mutex        sync.Mutex
	sessions     map[string]*Session
	runs         map[string]*Run
}

type message struct {
	M, Key, Source  string
	R, S, N         json.RawMessage
	C               int
	Ok, Present     bool
	Policy, Options Object
	Ops             []Operation
	Value           any
	Odd             []mark
	Error           HostError
	V               int
}

func (a *adapter) emit(m string, fields Object) {
	line := Object{"m": m, "k": a.key}
	for name, part := range fields {
		line[name] = part
	}
	var text bytes.Buffer
	text.WriteByte('\n')
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(line); err != nil {
		panic(err)
	}
	a.writing.Lock()
	defer a.writing.Unlock()
	for rest := text.Bytes(); len(rest) > 0; {
		n, err := syscall.Write(1, rest)
		if n > 0 {
			rest = rest[n:]
		}
		switch err {
		case nil, syscall.EINTR:
		case syscall.EAGAIN:
			time.Sleep(time.Millisecond) // the pipe is full, and some part of this process made it non-blocking
		default:
			os.Exit(1) // the harness is gone
		}
	}
}

func (a *adapter) receive(line []byte) {
	var given map[string]json.RawMessage
	var got message
	if json.Unmarshal(line, &given) != nil || json.Unmarshal(given["m"], &got.M) != nil || given == nil {
		a.emit("fault", Object{"of": "line", "text": "not a JSON object with a message type"})
		return
	}
	fields, known := fieldsOf[got.M]
	if !known {
		a.emit("unsupported", Object{"of": got.M})
		return
	}
	unknown := []string{}
	for name := range given {
		if name != "m" && !strings.Contains(" "+fields+" ", " "+name+" ") {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		sort.Strings(unknown)
		a.emit("unsupported", Object{"of": got.M, "fields": unknown})
		return
	}
	if err := json.Unmarshal(line, &got); err != nil {
		a.emit("fault", Object{"of": got.M, "text": err.Error()})
		return
	}
	if got.M == "open" || got.M == "close" { // the author's code must not keep other lines from being read
		go a.guarded(&got, a.obey)
		return
	}
	a.guarded(&got, a.obey)
}

func (a *adapter) guarded(m *message, obey func(m *message)) {
	defer func() {
		if failure := recover(); failure != nil {
			a.emit("fault", Object{"of": m.M, "text": fmt.Sprintf("%v\n%s", failure, debug.Stack())})
		}
	}()
	obey(m)
}

func (a *adapter) obey(m *message) {
	switch m.M {
	case "hello":
		a.key = m.Key
		a.emit("identity", a.identity)
	case "open":
		a.opened(m)
	case "run":
		a.begin(m)
	case "return":
		a.returned(m)
	case "cancel":
		run := a.runOf(m.R) // without one, its outcome is already on the way
		if run != nil && !run.session.Cancels {
			a.emit("unsupported", Object{"of": "cancel", "r": m.R})
		} else if run != nil {
			run.cancel()
		}
	case "ping":
		a.emit("pong", Object{"n": m.N})
	case "close":
		a.mutex.Lock()
		session := a.sessions[string(m.S)]
		delete(a.sessions, string(m.S))
		a.mutex.Unlock()
		if session != nil && session.Close != nil {
			session.Close()
		}
		a.emit("closed", Object{"s": m.S})
	case "stop":
		os.Exit(0)
	}
}

func (a *adapter) opened(m *message) {
	switch answer := a.open(m.Policy, m.Ops).(type) {
	case Unsupported:
		a.emit("unsupported", Object{"s": m.S, "fields": answer})
	case Outcome:
		delete(answer, "ok")
		answer["s"] = m.S
		a.emit("refused", answer)
	case *Session:
		a.mutex.Lock()
		a.sessions[string(m.S)] = answer
		a.mutex.Unlock()
		effective, unknown := answer.Effective, answer.Unknown
		if effective == nil {
			effective = Object{}
		}
		if unknown == nil {
			unknown = []string{}
		}
		a.emit("opened", Object{"s": m.S, "effective": effective, "unknown": unknown, "prelude": answer.Prelude,
			"wrap": answer.Wrap})
	default:
		panic(fmt.Sprintf("open gave a %T: neither *Session, Outcome nor Unsupported", answer))
	}
}

func (a *adapter) runOf(r json.RawMessage) *Run {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.runs[string(r)]
}

func (a *adapter) begin(m *message) {
	a.mutex.Lock()
	session := a.sessions[string(m.S)]
	a.mutex.Unlock()
	if session == nil {
		panic(fmt.Sprintf("session %s is not open", m.S))
	}
	lacking := []string{}
	for name := range m.Options {
		if !a.capabilities[capabilityOf[name]] {
			lacking = append(lacking, name)
		}
	}
	if len(lacking) > 0 {
		sort.Strings(lacking)
		a.emit("unsupported", Object{"of": "run", "r": m.R, "fields": lacking})
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	run := &Run{Source: m.Source, Options: m.Options, cancel: cancel, adapter: a, session: session, r: m.R,
		calls: map[int]chan reply{}}
	a.mutex.Lock()
	a.runs[string(m.R)] = run
	a.mutex.Unlock()
	go a.guarded(m, func(*message) {
		defer func() {
			cancel()
			a.mutex.Lock()
			delete(a.runs, string(m.R))
			a.mutex.Unlock()
		}()
		outcome := session.Run(ctx, run)
		outcome["r"] = m.R
		a.emit("outcome", Object(outcome))
	})
}

func (a *adapter) returned(m *message) {
	run := a.runOf(m.R)
	if run == nil {
		return // late
	}
	run.mutex.Lock()
	_, waits := run.calls[m.C]
	run.mutex.Unlock()
	if !waits {
		return // late or unknown
	}
	value := Absent
	if m.Ok && m.Present {
		built, lacking := build(m.Value, m.Odd)
		if len(lacking) > 0 {
			a.emit("unsupported", Object{"of": "return", "r": m.R, "fields": lacking})
			return
		}
		value = built
	}
	if waiting := run.take(m.C); waiting != nil && m.Ok {
		waiting <- reply{value: value}
	} else if waiting != nil {
		failure := m.Error
		waiting <- reply{err: &failure}
	}
}

// Serve speaks the protocol until stop or the end of input. Open gives a *Session, a Failed outcome, or Unsupported.
func Serve(identity Object, open func(policy Object, ops []Operation) any) {
	a := &adapter{identity: identity, open: open, capabilities: map[string]bool{}, sessions: map[string]*Session{},
		runs: map[string]*Run{}}
	for _, name := range reflectedTexts(identity["capabilities"]) {
		a.capabilities[name] = true
	}
	lines := bufio.NewReaderSize(os.Stdin, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			a.receive(line)
		}
		if err != nil {
			os.Exit(0)
		}
	}
}

func reflectedTexts(list any) (texts []string) {
	v := reflect.ValueOf(list)
	for i := 0; v.Kind() == reflect.Slice && i < v.Len(); i++ {
		texts = append(texts, fmt.Sprint(v.Index(i).Interface()))
	}
	return
}
