import Testing

@testable import BridgeStore

@Suite struct AdmissionTests {
    @Test("what is handed in above the inbox limit closes it until half is committed")
    func inbox() {
        var admission = Admission(inboxLimit: 100, maxSize: 1_000)
        let answer1 = admission.handIn(100)
        #expect(answer1)
        let answer2 = admission.handIn(1)
        #expect(!answer2)
        let answer3 = admission.handIn(1)
        #expect(!answer3)
        let answer4 = admission.takeNews()
        #expect(answer4 == nil)
        admission.took(51)
        let answer5 = admission.takeNews()
        #expect(answer5 == nil)
        admission.took(1)
        let answer6 = admission.takeNews()
        #expect(answer6 == true)
        let answer7 = admission.takeNews()
        #expect(answer7 == nil)
        let answer8 = admission.handIn(1)
        #expect(answer8)
    }

    @Test("a full buffer closes it until it is below nine tenths")
    func buffer() {
        var admission = Admission(inboxLimit: 100, maxSize: 1_000)
        admission.stored(999)
        let answer9 = admission.takeNews()
        #expect(answer9 == nil)
        admission.stored(1_000)
        let answer10 = admission.takeNews()
        #expect(answer10 == false)
        let answer11 = admission.handIn(1)
        #expect(!answer11)
        admission.stored(900)
        let answer12 = admission.takeNews()
        #expect(answer12 == nil)
        admission.stored(899)
        let answer13 = admission.takeNews()
        #expect(answer13 == true)
    }

    @Test("what endpoints hold whose rooms are left does not count against the others")
    func crowded() {
        var admission = Admission(inboxLimit: 100, maxSize: 1_000)
        admission.stored(1_000, crowded: 940)
        #expect(admission.isBufferFull)
        admission.stored(994, crowded: 940)
        #expect(admission.isBufferFull)
        admission.stored(993, crowded: 940)
        #expect(!admission.isBufferFull)
        // They have taken it all; a row of two of them counts twice there.
        admission.stored(1_049, crowded: 1_800)
        #expect(!admission.isBufferFull)
        admission.stored(1_049, crowded: 1_000)
        #expect(!admission.isBufferFull)
        admission.stored(1_049, crowded: 999)
        #expect(admission.isBufferFull)
        admission.stored(1_040, crowded: 1_015)
        #expect(admission.isBufferFull)
        admission.stored(1_040, crowded: 1_016)
        #expect(!admission.isBufferFull)
        // But there is an end.
        admission.stored(1_050, crowded: 1_050)
        #expect(admission.isBufferFull)
    }

    @Test("it opens only when every reason is gone")
    func reasons() {
        var admission = Admission(inboxLimit: 100, maxSize: 1_000)
        admission.diskIsFull(true)
        admission.stored(1_000)
        let answer14 = admission.takeNews()
        #expect(answer14 == false)
        admission.diskIsFull(false)
        let answer15 = admission.takeNews()
        #expect(answer15 == nil)
        admission.stored(0)
        let answer16 = admission.takeNews()
        #expect(answer16 == true)
    }
}
