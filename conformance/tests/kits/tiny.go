// A tiny target on the Go kit. A program is JSON: its "do" says what it does.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
)

type program struct {
	Do    string
	Value any
	Odd   []mark
	Calls [][]any
	Text  string
}

func shared() any {
	value := []any{1.0} // small in memory, and 2**60 values as JSON
	for i := 0; i < 60; i++ {
		value = []any{value, value}
	}
	return value
}

func calls(run *Run, list [][]any) Outcome {
	got, values := make([]chan any, len(list)), make([]any, len(list))
	for i, entry := range list {
		got[i] = make(chan any, 1)
		args := Absent
		if len(entry) > 1 {
			args = entry[1]
		}
		begun := make(chan bool)
		go func(i int, op string) { // one begins after the other, and all are open at once
			close(begun)
			value, _ := run.Call(context.Background(), op, args)
			got[i] <- value
		}(i, entry[0].(string))
		<-begun
		waitForCall(run, i+1)
	}
	for i := range got {
		values[i] = <-got[i]
	}
	return Ok(values)
}

func waitForCall(run *Run, c int) {
	for {
		run.mutex.Lock()
		there := run.last >= c
		run.mutex.Unlock()
		if there {
			return
		}
	}
}

func do(stop context.Context, run *Run) Outcome {
	var p program
	if err := json.Unmarshal([]byte(run.Source), &p); err != nil {
		panic(err)
	}
	switch p.Do {
	case "value":
		return Ok(p.Value, "said")
	case "nothing":
		return Ok(Absent)
	case "options":
		return Ok(run.Options)
	case "odd":
		value, _ := build(p.Value, p.Odd)
		return Ok(value)
	case "shared":
		return Ok(shared())
	case "calls":
		return calls(run, p.Calls)
	case "fail":
		value, err := run.Call(context.Background(), "a", Absent)
		if err != nil {
			return Failed("host", err, Object{"error": Object{"code": "operation_failed"}})
		}
		return Ok(value)
	case "wait":
		<-stop.Done()
		return Failed("cancelled", errors.New("stopped"), nil)
	case "abandon":
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		run.Call(ctx, "a", Absent)
		<-stop.Done()
		return Ok(1)
	case "noise":
		os.Stdout.WriteString(p.Text)
		return Ok(1)
	case "orphan":
		go panic("nobody listens")
		<-stop.Done()
	}
	panic("no such program")
}

func main() {
	var identity Object
	if err := json.Unmarshal([]byte(os.Args[1]), &identity); err != nil {
		panic(err)
	}
	identity["host_values"] = HostValues
	Serve(identity, func(policy Object, ops []Operation) any {
		if _, there := policy["pages"]; there {
			return Unsupported{"pages"}
		}
		if policy["wall_time_ms"] == 0.0 {
			return Failed("policy", errors.New("zero"), nil)
		}
		if _, there := policy["plain"]; there {
			return &Session{Run: do}
		}
		limit := Object{"value": 1000, "from": "documented"}
		return &Session{Effective: Object{"wall_time_ms": limit}, Prelude: "host", Run: do, Cancels: true}
	})
}
