"""Verify a certificate of Eva's cost, written from `docs/certificates.md` alone: `second_verifier.py DATA PROOF`."""

import hashlib
import json
import re
import sys
from fractions import Fraction
from functools import cache
from math import gcd, inf
from operator import le, mul
from pathlib import Path

DEFAULTS = {".running": [], ".spread": [], ".spread.max_per_instance": 1}
DEFAULTS |= {".throughput.default": 1, ".throughput.pairwise": []}


def require(condition, message):
    if not condition:
        raise ValueError(message)


def fields(value, *names, **optional):
    """Return the required fields of an object, a tuple of pairs, then the optional ones."""
    require(isinstance(value, tuple) and len(dict(value)) == len(value), "expected an object without repeated fields")
    require({*names} <= {*dict(value)} <= {*names, *optional}, f"expected the fields {names}")
    return [dict(value).get(name, optional.get(name)) for name in (*names, *optional)]


def integers(value, length=None, low=0, high=2**62):
    require(isinstance(value, list) and length in (None, len(value)), "expected a list of another length")
    require(all(type(one) is int and low <= one < high for one in value), "expected integers within the limits")
    return value


def plain(value, path=""):
    """Return the data of the digest: without defaults, and with floats for all but counts."""
    if isinstance(value, dict):
        return {k: plain(v, f"{path}.{k}") for k, v in value.items() if v not in (None, DEFAULTS.get(f"{path}.{k}"))}
    if isinstance(value, list):
        return [plain(one, path) for one in value]
    if isinstance(value, str) or (path.count(".") == 2 and not path.endswith(("_hour", ".default", ".pairwise"))):
        return value
    return float(value) if path.startswith(".throughput") else round(float(value), 9) + 0.0


@cache
def best(needs, counts, rooms, values, floor):
    """Return the larger of `floor` and the value of the best pattern. A sum of all resources bounds the search."""
    scale = [10**9 * max(rooms) // q if q else 0 for q in rooms]
    items = [(v, (*d, sum(map(mul, scale, d)) + 1), n) for v, d, n in zip(values, needs, counts, strict=True) if v]
    items = sorted((i for i in items if all(map(le, i[1], rooms))), key=lambda i: Fraction(-i[0], i[1][-1]))
    nodes = [(0, (*rooms, sum(map(mul, scale, rooms)) + sum(counts)), 0)]
    while nodes:
        first, free, value = nodes.pop()
        floor, total, room = max(floor, value), value, free[-1]
        for worth, need, count in items[first:]:
            take = min(count * need[-1], room)
            total, room = total + worth * take // need[-1], room - take
        if total > floor:
            worth, need, count = items[first]
            for n in range(min([count, *(q // d for d, q in zip(need, free, strict=True) if d)]) + 1):
                nodes.append((first + 1, [q - n * d for q, d in zip(free, need, strict=True)], value + n * worth))
    return floor


class Packing:  # types, tasks and resources in integers, in the order of the page; `data` is in steps of 1e-9
    def __init__(self, data):
        tasks, names, types, allowed, rows = data["tasks"], {one["name"] for one in data["instance_types"]}, [], {}, []
        self.counts, resources = tuple(task["count"] for task in tasks), data["resources"]
        for one in data["instance_types"]:
            offers, left, runs = [], one.get("max_instances", inf), {one["usd_per_hour"]: inf}
            for run in data.get("running", []):
                if run["type"] == one["name"] and run.get("usd_per_hour", inf) < one["usd_per_hour"]:
                    runs[run["usd_per_hour"]] = runs.get(run["usd_per_hour"], 0) + run["count"]
            for price, number in sorted(runs.items()):
                offers.append((one, price, min(number, left - sum(count for _, _, count in offers))))
            types += [offer for offer in offers if offer[2]] or offers[-1:]
        self.unit, self.kinds = gcd(*(price for _, price, _ in types)) or 1, range(len(types))
        self.prices, self.families = [p // self.unit for _, p, _ in types], [one["family"] for one, _, _ in types]
        self.limits = [("instances", [k], [], types[k][2], -1) for k in self.kinds if types[k][2] < inf]
        keys = [task["workload"] + "@" * ("job" in task) + task.get("job", "") for task in tasks]
        for c, task in enumerate(tasks):
            allowed.setdefault(frozenset(task.get("allowed_types", names)), []).append(c)
        own = [(have, group, sum(self.counts[c] for c in group)) for have, group in allowed.items() if have != names]
        groups = [([keys.index(k) for k in s["tasks"]], s.get("max_per_instance", 1)) for s in data.get("spread", [])]
        groups = [([c], t["max_per_instance"]) for c, t in enumerate(tasks) if "max_per_instance" in t] + groups
        own += [(names, group, most) for group, most in groups if sum(self.counts[c] for c in group) > most]
        for one, _, _ in types:  # a row of its capacities, then a row of demands per task entry
            needs = [task["demand"].get(one["family"], task["demand"]["default"]) for task in tasks]
            rows.append([[one["capacity"][r] for r in resources] + [m * (one["name"] in have) for have, _, m in own]])
            rows[-1] += [[d[r] for r in resources] + [int(c in g) for _, g, _ in own] for c, d in enumerate(needs)]
        units = [gcd(*column) or 1 for column in zip(*(row for one in rows for row in one), strict=True)]
        rows = [[tuple(q // u for q, u in zip(row, units, strict=True)) for row in one] for one in rows]
        self.types = [(tuple(needs), self.counts, rooms) for rooms, *needs in rows]
        self.fits = [[c for c, need in enumerate(needs) if all(map(le, need, rooms))] for rooms, *needs in rows]

    def leaf_of_duals(self, leaf, decisions):
        scale, duals, chosen, types, stated = fields(leaf, "scale", "tasks", "decisions", "types", "bound")
        integers([scale], low=1), integers(types, len(self.kinds), 1 - 2**62), integers(chosen, len(decisions))
        total, charges = sum(map(mul, self.counts, integers(duals, len(self.counts)))), [0] * len(types)
        values, sums, prices = [tuple(duals)] * len(types), 1, [price for price in self.prices if price]
        for (kind, of, tasks, amount, sign), dual in zip(decisions, chosen, strict=True):
            total += sign * dual * amount
            for k in of:
                charges[k] += sign * dual * {"instances": 1, "spent": self.prices[k], "placed": 0}[kind]
                values[k] = tuple(y + dual * (c in tasks) for c, y in enumerate(values[k]))
        require(isinstance(stated, str) and re.fullmatch("-?[0-9]{1,60}(/[1-9][0-9]{0,60})?", stated), "expected p/q")
        require(types == charges and Fraction(stated) == Fraction(total, scale), "a leaf states a wrong number")
        targets = [scale * price - charge for price, charge in zip(self.prices, charges, strict=True)]
        require(all(0 <= t == best(*self.types[k], values[k], t) for k, t in enumerate(targets)), "a pattern is better")
        target, low = max(0, -(-total // scale)), min(prices, default=inf)
        if low > 200_000 or target >= low * max(prices):  # from this product on, every integer is a sum of prices
            return target
        for price in prices:
            while price <= target + low:
                sums, price = sums | sums << price, 2 * price
        return target + (sums >> target & -(sums >> target)).bit_length() - 1

    def leaf_of_covers(self, leaf, decisions):
        (stated, bound), covers, size, usable = fields(leaf, "covers", "bound"), [], -1, []
        integers([bound]), require(isinstance(stated, list), "expected a list of covers")
        for fits, (needs, _, rooms) in zip(self.fits, self.types, strict=True):
            units = [gcd(*(needs[c][r] for c in fits)) for r in range(len(rooms))]
            usable.append([u and q - q % u for q, u in zip(rooms, units, strict=True)])
        low = [max([0, *(d[3] for d in decisions if d[:2] == ("instances", [k]) and d[4] > 0)]) for k in self.kinds]
        high = [min([inf, *(d[3] for d in decisions if d[:2] == ("instances", [k]) and d[4] < 0)]) for k in self.kinds]
        for cover in stated:
            weights, divisor, most, searched = fields(cover, "weights", "divisor", tasks=None, searched=[])
            integers([divisor], 1, 1, inf), integers(searched, high=len(self.kinds))
            rows = [(integers(one, len(rooms)), rooms) for one, rooms in zip(weights, usable, strict=True)]
            v = [[]] * len(self.counts) if most is None else [[one] for one in integers(most, len(self.counts))]
            for c, limit in enumerate(v):
                used = [k for k in self.kinds if k not in searched and c in self.fits[k]]
                v[c] = min(limit + [sum(map(mul, rows[k][0], self.types[k][0][c])) for k in used], default=0)
            held = [best(*self.types[k], (*v,), 0) if k in searched else sum(map(mul, *w)) for k, w in enumerate(rows)]
            target = sum(map(mul, self.counts, v))
            size += 1 - (-target // divisor)
            require(bound == 0 or (size <= 10**7 and target <= 2**22 * divisor), "a table is too large")
            covers.append((target - sum(map(mul, held, low)), held))

        def hold(k, r):
            users = [self.types[k][0][c] for c in self.fits[k] if self.types[k][0][c][r]]
            ratios = [(q, [Fraction(d[r], d[s]) for d in users if d[s]]) for s, q in enumerate(usable[k])]
            return min((int(q * max(one)) for q, one in ratios if len(one) == len(users) > 0), default=0)

        @cache
        def replaces(o, *parts):
            alike = high[o] == inf and all(o != k and self.types[o][0] == self.types[k][0] for k in parts)
            ahead = (self.prices[o], -1 if parts[1:] else o) < (sum(self.prices[k] for k in parts), parts[0])
            return alike and ahead and all(q >= sum(hold(k, r) for k in parts) for r, q in enumerate(self.types[o][2]))

        kept = [k for k in self.kinds if low[k] or not any(replaces(o, k) for o in self.kinds)]
        nodes = [(kept, bound - 1 - sum(map(mul, self.prices, low)), covers, ())]
        while nodes:
            kept, left, rest, extra = nodes.pop()
            rest = [(n, held) for n, held in rest if n > 0]
            require(rest or left < 0, "a cheaper mix satisfies the covers")
            for i, k in enumerate(kept):
                if any(all(self.prices[j] * n > left * held[j] for j in kept[i:]) for n, held in rest):
                    break
                free = self.prices[k] <= left and extra.count(k) < high[k] - low[k] and any(h[k] for _, h in rest)
                if free and not any(replaces(o, k, other) for other in {*extra} for o in self.kinds):
                    nodes.append((kept[i:], left - self.prices[k], [(n - h[k], h) for n, h in rest], (*extra, k)))
        return bound


def verify(instance, certificate):
    """Return the bound in USD/h that the text of a certificate proves, or raise a ValueError or a TypeError."""
    names = ("gapwise_certificate", "problem", "instance", "unit", "bound", "nodes")
    version, problem, digest, unit, bound, nodes = fields(json.loads(certificate, object_pairs_hook=tuple), *names)
    text = json.dumps({"problem": "eva-packing", "data": plain(json.loads(instance)["data"])}, sort_keys=True)
    data = json.loads(text, parse_float=cache(lambda one: round(Fraction(one) * 10**9)))["data"]
    p, bounds = Packing(data), []
    head = [1, "eva-packing", "2:" + hashlib.sha256(text.encode()).hexdigest(), p.unit, "cost"]
    integers([version, unit, bound]), require([version, problem, digest, unit, data["objective"]] == head, "other data")
    reached = [(0, p.limits)]
    for i, decisions in reached:
        require(len(reached) <= len(nodes), "a node is reached twice")
        if "leaf" in dict(nodes[i]):
            bounds.append(p.leaf_of_duals(*fields(nodes[i], "leaf"), decisions))
        elif "totals" in dict(nodes[i]):
            bounds.append(p.leaf_of_covers(*fields(nodes[i], "totals"), decisions))
        else:
            stated, children = fields(nodes[i], "branch", "children")
            kind, of, amount, tasks = fields(stated, "kind", "of", "amount", tasks=[])
            integers(of, high=len(p.kinds)), integers(tasks, high=len(p.counts)), integers([amount])
            require(len({*of}) == len(of) > 0 and len({*tasks}) == len(tasks), "an index occurs twice, or none does")
            step = {"instances": 1, "spent": gcd(*(p.prices[k] for k in of)) or 1, "placed": 1}.get(kind)
            require(step and amount % step == 0 and (kind == "placed") == bool(tasks), "a branch that is not allowed")
            family = [k for k in p.kinds if p.families[k] == p.families[of[0]]]
            require(not tasks or len(of) == 1 or sorted(of) == family, "tasks are counted on one type or a family")
            others = kind, [k for k in p.kinds if k not in of], tasks, sum(p.counts[c] for c in tasks) - amount, 1
            both = others if tasks else (kind, of, tasks, amount, -1), (kind, of, tasks, amount + step, 1)
            reached += zip(integers(children, 2, high=len(nodes)), [[*decisions, one] for one in both], strict=True)
    require(bound == min(bounds) and len({i for i, _ in reached}) == len(nodes), "another bound, or an unused node")
    return Fraction(bound * unit, 10**9)


if __name__ == "__main__":
    print("proved, in USD/h:", float(verify(*(Path(name).read_text() for name in sys.argv[1:]))))
