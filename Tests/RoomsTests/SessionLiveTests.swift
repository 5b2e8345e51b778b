import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

@Suite struct SessionLiveTests {
    private func joined(at offset: Int = 5, tokens: TokenSource = .anonymous) -> SessionBench {
        var bench = SessionBench(.now, StreamModel(published: offset), policy: ConnectionPolicy(tokens: tokens))
        bench.run()
        return bench
    }

    /// No tokens; keeps which of them were called expired.
    private func counting(_ expired: Lock<[ByteString?]>) -> TokenSource {
        TokenSource(
            connection: { nil },
            subscription: { _ in nil },
            expired: { name in expired.withLock { $0.append(name) } }
        )
    }

    @Test("C45: what was handed on before is dropped and counted")
    func duplicates() {
        var bench = joined()
        bench.push(publication(6))
        bench.push(publication(6))
        bench.push(publication(2))
        #expect(bench.seen == ["joined A/5", "event A/6"])
        #expect(bench.tally.duplicates == 2)
    }

    @Test("C46: a live hole leaves the room, waits for the answer, and recovers from the last event")
    func hole() {
        var bench = joined()
        _ = bench.stream.publish()
        bench.publish()
        #expect(bench.session.state == .parting)
        let request = bench.send()
        #expect(request == .unsubscribe(channel: "room"))
        #expect(bench.session.wish == nil)
        bench.answer(.unsubscribe)
        bench.run()
        #expect(bench.lastSubscribe?.offset == 5)
        #expect(bench.seen == ["joined A/5", "joined A/5", "replay A/6", "replay A/7"])
    }

    @Test("4.6: after three resubscribes that find nothing, holes are accepted, each as a gap")
    func filtered() {
        var bench = joined()
        var rounds = 0
        var offset: UInt64 = 7
        while !bench.seen.contains(where: { $0.contains("filtered") }), rounds < 10 {
            rounds += 1
            bench.push(publication(offset))
            offset += 2
            // The server says that nothing is missing.
            bench.stream.top = 5
            while bench.session.wish != nil || bench.session.pausedUntil != nil {
                if !bench.step() { bench.pass(.seconds(30)) }
            }
        }
        #expect(rounds == 4)
        #expect(bench.seen.suffix(2) == ["gap filtered A/6-12 then A/12", "event A/13"])
        bench.push(publication(15))
        #expect(bench.seen.suffix(2) == ["gap filtered A/14-14 then A/14", "event A/15"])
    }

    @Test("holes that recovery heals never count as filtered")
    func healedHoles() {
        var bench = joined()
        for _ in 0..<6 {
            bench.stream.publish()
            bench.publish()
            while bench.session.state != .live { if !bench.step() { bench.pass(.seconds(30)) } }
        }
        #expect(bench.seen.filter { $0.hasPrefix("replay") }.count == 12)
        #expect(!bench.seen.contains { $0.hasPrefix("gap") })
    }

    @Test("an event without an offset has no position, also while older ones are fetched")
    func loose() {
        var bench = joined()
        bench.push(publication(0))
        #expect(bench.seen == ["joined A/5", "loose"])
    }

    @Test("C54: the epoch of an event is adopted only when ours is empty")
    func epochOfEvent() {
        var bench = joined()
        bench.push(publication(6, epoch: "A"))
        #expect(bench.seen.last == "event A/6")
        bench.push(publication(1, epoch: "B"))
        #expect(bench.seen.suffix(2) == ["gap epoch_changed A/7- then B/0", "event B/1"])
        var other = SessionBench(.now, StreamModel(epoch: ""))
        other.run()
        other.push(publication(1, epoch: "C"))
        #expect(other.seen == ["joined /0", "event C/1"])
    }

    @Test("an event of another epoch in the middle of its stream makes the room join again")
    func strangeEpoch() {
        var bench = joined()
        bench.push(publication(9, epoch: "B"))
        #expect(bench.session.state == .parting)
        #expect(bench.seen == ["joined A/5"])
    }

    @Test("live events that do not fit while filling are let go and fetched")
    func fullBuffer() {
        var policy = ConnectionPolicy()
        policy.liveBufferBytes = 1_000
        var model = StreamModel(published: 900)
        model.recoveryLimit = 3
        var bench = SessionBench.resuming(at: 5, model, policy: policy)
        bench.session.connected()
        bench.step()
        bench.publish(count: 100)
        bench.run()
        let offsets = bench.seen.dropFirst().compactMap { UInt64($0.split(separator: "/").last ?? "") }
        #expect(offsets == Array(6...1_000))
        #expect(bench.tally.refetched > 90)
    }

    @Test("history that holds only what is behind the target leaves the rest to the live events")
    func trimmedBeyondTarget() {
        var model = StreamModel(published: 20)
        model.recoveryLimit = 3
        var bench = SessionBench.resuming(at: 5, model)
        bench.session.connected()
        bench.step()
        bench.publish(count: 10)
        bench.stream.trim(upTo: 25)
        bench.run()
        let expected = ["joined A/5", "gap trimmed A/6-20 then A/20"] + (21...30).map { "event A/\($0)" }
        #expect(bench.seen == expected)
    }

    // MARK: unsubscribed by the server

    @Test(
        "C32: insufficient state and its kind are answered with a recovery",
        arguments: [2500, 2501, 2999] as [UInt32]
    )
    func resubscribes(code: UInt32) {
        let expired = Lock<[ByteString?]>([])
        var bench = joined(tokens: counting(expired))
        bench.stream.publish()
        bench.unsubscribed(code)
        // Only what ran out needs another token.
        #expect(expired.withLock { $0 } == (code == 2501 ? ["room"] : []))
        bench.run()
        #expect(bench.lastSubscribe?.recover == true)
        #expect(bench.seen == ["joined A/5", "joined A/5", "replay A/6"])
    }

    @Test("C32: a voided subscription drops its token and starts at the top, behind a gap")
    func voided() {
        let expired = Lock<[ByteString?]>([])
        var bench = joined(tokens: counting(expired))
        bench.stream.publish()
        bench.unsubscribed(2502)
        #expect(expired.withLock { $0 } == ["room"])
        bench.run()
        #expect(bench.lastSubscribe?.recover == false)
        #expect(bench.seen == ["joined A/5", "joined A/5", "gap invalidated A/6-6 then A/6"])
    }

    @Test("C32: a room the server took away is reported and tried again only after a long pause")
    func kicked() {
        var bench = joined()
        bench.unsubscribed(2000)
        #expect(bench.seen.last == "failed 2000")
        bench.pass(.seconds(299))
        #expect(bench.session.wish == nil)
        bench.pass(.seconds(40))
        #expect(bench.session.wish == .subscribe(isRecovery: true))
    }

    @Test("C33: an unsubscribe push for a room that is not joined is ignored")
    func strayUnsubscribe() {
        var bench = SessionBench(.now, StreamModel())
        bench.unsubscribed(2000)
        bench.session.connected()
        _ = bench.send()
        bench.unsubscribed(2500)
        #expect(bench.session.state == .joining)
        bench.answer(.subscribe(bench.stream.subscribe(SubscribeRequest())))
        #expect(bench.seen == ["joined A/0"])
    }

    @Test("a server that takes the room away again and again is asked ever more slowly")
    func backsOff() {
        var bench = joined()
        var pauses: [Duration] = []
        for _ in 0..<8 {
            bench.unsubscribed(2500)
            let until = bench.session.pausedUntil ?? bench.now
            pauses.append(until - bench.now)
            bench.pass(until - bench.now)
            bench.run()
            #expect(bench.session.state == .live)
        }
        #expect(pauses[0] == .zero)
        #expect(pauses.dropFirst().allSatisfy { $0 >= .milliseconds(500) && $0 <= .seconds(20) })
        bench.pass(.seconds(11))
        bench.unsubscribed(2500)
        #expect(bench.session.pausedUntil == nil)
    }

    // MARK: refusals

    @Test("C30: temporary errors are tried again after a pause", arguments: [100, 111] as [UInt32])
    func temporary(code: UInt32) {
        var bench = SessionBench(.now, StreamModel())
        bench.session.connected()
        _ = bench.send()
        bench.answer(.error(ErrorReply(code: code, message: "later", isTemporary: true)))
        #expect(bench.session.wish == nil)
        bench.pass(.seconds(2))
        #expect(bench.session.wish == .subscribe(isRecovery: false))
        #expect(bench.seen == [])
    }

    @Test("C30: lasting errors fail the room", arguments: [102, 103, 106, 107, 108, 400] as [UInt32])
    func lasting(code: UInt32) {
        var bench = SessionBench(.now, StreamModel())
        bench.session.connected()
        _ = bench.send()
        bench.answer(.error(ErrorReply(code: code, message: "no")))
        #expect(bench.seen == ["failed \(code)"])
        bench.disconnect()
        bench.session.connected()
        bench.pass(.seconds(299))
        #expect(bench.session.wish == nil)
        bench.pass(.seconds(40))
        #expect(bench.session.wish == .subscribe(isRecovery: false))
    }

    @Test("C31: already subscribed means unsubscribe, wait, subscribe once more, and no loop")
    func alreadySubscribed() {
        var bench = SessionBench(.now, StreamModel())
        bench.session.connected()
        for _ in 0..<2 {
            while let request = bench.send() {
                if case .subscribe = request {
                    bench.answer(.error(ErrorReply(code: 105, message: "already subscribed")))
                } else {
                    bench.answer(.unsubscribe)
                }
            }
        }
        #expect(bench.requests.count == 3)
        #expect(bench.requests[1] == .unsubscribe(channel: "room"))
        #expect(bench.seen == ["failed 105"])
    }

    @Test("C30: an expired room token is replaced; without a newer one the room fails", arguments: [true, false])
    func expiredToken(hasNewer: Bool) {
        let fresh = Secret(hasNewer ? "second" : "first")
        let tokens = TokenSource(connection: { nil }, subscription: { _ in fresh })
        var bench = SessionBench(.now, StreamModel(), policy: ConnectionPolicy(tokens: tokens))
        bench.session.connected()
        if let wish = bench.session.wish { _ = bench.session.start(wish, token: Secret("first")) }
        bench.answer(.error(ErrorReply(code: 109, message: "token expired")))
        #expect(bench.seen == (hasNewer ? [] : ["failed 109"]))
        #expect(bench.session.pausedUntil != nil)
    }

    @Test("C50: an answer to a command of an earlier attempt is dropped")
    func lateAnswer() {
        var bench = SessionBench.resuming(at: 5, StreamModel(published: 9))
        bench.session.connected()
        _ = bench.send()
        let old = bench.session.attempt
        let stale = bench.stream.subscribe(bench.lastSubscribe ?? SubscribeRequest())
        bench.disconnect()
        bench.session.connected()
        _ = bench.send()
        bench.answer(.subscribe(stale), attempt: old)
        #expect(bench.seen == [])
        #expect(bench.tally.late == 1)
    }

    // MARK: answers that do not come through

    @Test("4.8 rule 8: after a lost recovery the room joins without one and fills by small pages")
    func lostRecovery() {
        var bench = SessionBench.resuming(at: 5, StreamModel(published: 60))
        bench.session.connected()
        _ = bench.send()
        bench.disconnect(isSuspicious: true)
        bench.run()
        #expect(bench.lastSubscribe?.recover == false)
        #expect(bench.pageLimits.first == 16)
        let expected = ["joined A/5"] + (6...60).map { "replay A/\($0)" }
        #expect(bench.seen == expected)
        // The next time is like the first.
        bench.disconnect()
        bench.run()
        #expect(bench.lastSubscribe?.recover == true)
    }

    @Test("a lost recovery where history is refused is asked for again, not given up")
    func lostRecoveryWithoutHistory() {
        var model = StreamModel(published: 60)
        model.isHistoryAllowed = false
        var bench = SessionBench.resuming(at: 5, model)
        bench.session.connected()
        _ = bench.send()
        bench.disconnect(isSuspicious: true)
        bench.run()
        let expected = ["joined A/5", "joined A/5"] + (6...60).map { "replay A/\($0)" }
        #expect(bench.seen == expected)
    }

    @Test(
        "a recovery that never comes through where history is refused becomes a gap after ten tries",
        arguments: [
            (RoomStart.resume(RoomPosition(epoch: "A", offset: 5)), "A/5", "gap too_large A/6-60 then A/60"),
            (.earliest, "A/0", "gap too_large A/1-60 then A/60"),
        ]
    )
    func hopelessRecovery(start: RoomStart, joined: String, gap: String) {
        var model = StreamModel(published: 60)
        model.isHistoryAllowed = false
        var bench = SessionBench(start, model)
        for _ in 0..<20 {
            bench.session.connected()
            while let request = bench.send() {
                if case .subscribe(let subscribe) = request, subscribe.recover {
                    bench.disconnect(isSuspicious: true)
                } else {
                    bench.answer(bench.honestAnswer(request))
                }
            }
        }
        #expect(bench.seen.filter { $0 != "joined \(joined)" } == [gap])
        let recoveries = bench.requests.count { request in
            if case .subscribe(let subscribe) = request { return subscribe.recover }
            return false
        }
        #expect(recoveries == 10)
        #expect(bench.session.state == .live)
    }

    @Test("C63: an event too large for any reply becomes a gap after three tries, and the room goes on")
    func tooLarge() {
        var model = StreamModel(published: 40)
        model.recoveryLimit = 3
        var bench = SessionBench.resuming(at: 5, model)
        var connections = 0
        while bench.session.state != .live, connections < 50 {
            connections += 1
            bench.session.connected()
            while let request = bench.send() {
                if case .history(let history) = request, case .history(let result) = bench.stream.history(history),
                    result.publications.contains(where: { $0.offset == 20 })
                {
                    bench.disconnect(isSuspicious: true)
                } else {
                    bench.answer(bench.honestAnswer(request))
                }
            }
        }
        let replays = (6...40).map { $0 == 20 ? "gap too_large A/20-20 then A/20" : "replay A/\($0)" }
        #expect(bench.seen.filter { !$0.hasPrefix("joined") } == replays)
        #expect(connections < 15)
    }
}
