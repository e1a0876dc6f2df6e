"""First fit, in the order of the tasks or of their cost."""


def first_fit(data):
    """Tasks in order; each on the first instance with room.

    Where there is none, on a new one of the cheapest type that it fits on.
    """
    return packed(data, [task for task in data.tasks for _ in range(task.count)])


def dearest_first(data):
    """Pack as `first_fit`, with the tasks first that would cost most alone."""

    def alone(task):
        kinds = [kind for kind in data.instance_types if fits(data, task, kind)]
        return min(kind.usd_per_hour for kind in kinds)

    tasks = [task for task in data.tasks for _ in range(task.count)]
    return packed(data, sorted(tasks, key=alone, reverse=True))


def packed(data, tasks):
    """Return the solution, in the JSON form of the problem's files."""
    rented = []  # type, room left, tasks on it
    cheapest_first = sorted(data.instance_types, key=lambda kind: kind.usd_per_hour)
    for task in tasks:
        places = (place for place in rented if fits(data, task, place[0], place[1]))
        place = next(places, None)
        if place is None:
            kind = next(kind for kind in cheapest_first if fits(data, task, kind))
            place = (kind, dict(kind.capacity), {})
            rented.append(place)
        kind, room, on_it = place
        need = task.demand_on(kind.family)
        room.update({name: room[name] - need[name] for name in data.resources})
        on_it[task.key] = on_it.get(task.key, 0) + 1
    instances = ({"type": kind.name, "tasks": on_it} for kind, _, on_it in rented)
    return {"instances": [instance | {"count": 1} for instance in instances]}


def fits(data, task, kind, room=None):
    need, room = task.demand_on(kind.family), kind.capacity if room is None else room
    return all(need[name] <= room[name] for name in data.resources)
