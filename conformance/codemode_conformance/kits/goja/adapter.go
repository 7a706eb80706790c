// SPDX-License-Identifier: Apache-2.0

// An example of the Go kit: drives goja, an ECMAScript interpreter in Go, with a deadline around it. The kit stands
// beside this file when it is built; target.toml says how. A sandbox of your own takes the place of goja.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dop251/goja"
)

const prelude = "var host = { call: function (name, args) { return tools[name](args); } };"

var errTime = errors.New("the deadline is over")

// describe tells a failure apart by what the program cannot make: the value that interrupted it, or goja's own types.
func describe(err error) Outcome {
	if interrupted, is := err.(*goja.InterruptedError); is {
		if interrupted.Value() == errTime {
			return Failed("time", errTime, nil)
		}
		return Failed("cancelled", err, nil)
	}
	return Failed("script", err, nil)
}

func runProgram(ctx context.Context, run *Run, ops []Operation, limit time.Duration) Outcome {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	vm := goja.New()
	tools := vm.NewObject()
	for _, op := range ops {
		name := op.Name
		tools.Set(name, func(call goja.FunctionCall) goja.Value {
			value, err := run.Call(ctx, name, call.Argument(0).Export())
			if err != nil {
				panic(vm.ToValue(err.Error())) // a panic of goja's is what the program may catch
			}
			if value == Absent {
				return goja.Undefined()
			}
			return vm.ToValue(value)
		})
	}
	vm.Set("tools", tools)
	over := make(chan bool)
	defer close(over)
	go func() {
		select {
		case <-ctx.Done():
			reason := errTime
			if ctx.Err() != context.DeadlineExceeded {
				reason = ctx.Err()
			}
			vm.Interrupt(reason)
		case <-over:
		}
	}()
	value, err := vm.RunString(run.Source)
	if err != nil {
		return describe(err)
	}
	if goja.IsUndefined(value) {
		return Ok(Absent)
	}
	return exported(value)
}

// exported takes a value out of goja. For some values its Export panics: that is a failure of goja's, and the run's.
func exported(value goja.Value) (outcome Outcome) {
	defer func() {
		if reason := recover(); reason != nil {
			outcome = Failed("result", fmt.Errorf("it cannot be exported: %v", reason), nil)
		}
	}()
	return Ok(value.Export())
}

func open(policy Object, ops []Operation) any {
	limit, from := 5000.0, "documented"
	if given, there := policy["wall_time_ms"]; there {
		number, is := given.(float64)
		if !is || number <= 0 {
			return Failed("policy", errors.New("wall_time_ms is a number above zero"), nil)
		}
		limit, from = number, "set"
	}
	unknown := []string{}
	for row := range policy {
		if row != "wall_time_ms" {
			unknown = append(unknown, row)
		}
	}
	return &Session{
		Effective: Object{"wall_time_ms": Object{"value": limit, "from": from}},
		Prelude:   prelude,
		Wrap:      [2]string{"(function () {", "\n})()"},
		Unknown:   unknown,
		Cancels:   true,
		Run: func(ctx context.Context, run *Run) Outcome {
			return runProgram(ctx, run, ops, time.Duration(limit*float64(time.Millisecond)))
		},
	}
}

func main() {
	Serve(Object{
		"target": "goja", "version": "1", "language": []string{"javascript"}, "mapping": "typed", "sessions": 1,
		"runs_per_session": 1, "settable": []string{"wall_time_ms"}, "host_values": HostValues,
		"capabilities": []string{"policy.wall_time_ms", "op.value", "op.fail", "op.delay", "op.never", "op.native",
			"op.ledger", "op.many", "cancel.native", "call_cancelled", "odd", "raw"},
		"alternatives": Object{"script_style": "sync", "source_form": "function_body", "undefined_result": "absent",
			"operation_failure": "throw", "host_wait": "counted", "isolation": "interpreter"},
	}, open)
}
