/* Types of the events that components send. A component's view.js lists its events as `@typedef NAMEEvents`, with the
   type of each value; tests/static/test_events.py compares them with those that its page receives. */

/** The function that sends an event of a component to its page: a name of `Events`, and a value of its type. */
type SendEvent<Events> = <Name extends keyof Events>(name: Name, value: Events[Name]) => void;
