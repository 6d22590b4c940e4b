"""A small grammar of English sentences that judge something, with their true class: positive or negative.

Each form is a sentence with places for words. A form that turns ("the soup was not {a}") has the class opposite to that
of its word; a plain form has the class of its word, also where it contains "not" ("it could not be more {a}"). A fifth
of the adjectives (NEW_ADJECTIVES) and some forms (HELD_OUT) are kept for the test. Sentences of two clauses join two
simple ones.

How a form is written: `{s}` is a subject and `{is}` agrees with it; `(a|b|)` chooses one of several parts, or none;
`{a}` and `{b}` are adjectives of one class. Contractions need no forms of their own, because "isn't" is read as
"is not".
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import lru_cache

NEGATIVE, POSITIVE = 0, 1


def _list(words: str) -> tuple[str, ...]:
    return tuple(words.split())


# Words with their class. NEW_ADJECTIVES are kept for the test.
ADJECTIVES = {
    POSITIVE: """
        good great nice wonderful excellent amazing fantastic brilliant beautiful lovely perfect superb awesome
        terrific fabulous marvelous splendid delightful charming pleasant enjoyable entertaining funny hilarious
        amusing witty clever smart intelligent wise brave honest sincere friendly kind warm generous gentle polite
        helpful useful valuable practical reliable trustworthy safe secure solid sturdy strong powerful efficient
        effective impressive remarkable outstanding extraordinary exceptional magnificent gorgeous stunning attractive
        elegant stylish pretty cute handsome graceful fresh tasty delicious yummy comfortable cozy convenient easy
        smooth quick clean bright clear lively energetic exciting thrilling gripping engaging fascinating interesting
        inspiring touching moving heartwarming uplifting refreshing relaxing soothing calm peaceful romantic sweet
        tender thoughtful meaningful insightful original creative innovative imaginative fun memorable unforgettable
        satisfying rewarding successful flawless fair reasonable healthy lucky fortunate popular talented skilled
        professional responsible loyal sympathetic likeable lovable adorable cheerful joyful festive fine decent
        superior special precious convincing believable compelling captivating absorbing sensitive subtle worthwhile
        accurate durable spacious modern
    """,
    NEGATIVE: """
        bad terrible awful horrible dreadful poor weak boring dull tedious bland tasteless stupid dumb silly foolish
        ridiculous absurd pathetic miserable sad depressing gloomy disappointing frustrating annoying irritating
        disgusting nasty ugly unpleasant offensive rude unfriendly cruel mean selfish arrogant dishonest greedy lazy
        careless useless worthless pointless meaningless hopeless helpless unreliable dangerous risky unsafe harmful
        broken faulty defective flimsy slow noisy loud dirty filthy smelly messy chaotic confusing complicated
        difficult hard uncomfortable painful unbearable expensive overpriced cheap fake false wrong unfair corrupt
        evil violent brutal scary creepy shocking disturbing tragic disastrous catastrophic clumsy awkward lame
        mediocre inferior forgettable predictable shallow empty hollow lifeless soulless charmless humorless mindless
        incoherent incompetent ineffective insulting embarrassing shameful stale rotten sour bitter greasy soggy cold
        freezing sticky crowded cramped shabby worn outdated tiresome exhausting stressful monotonous repetitive
        pretentious unconvincing unfunny unoriginal uninspired unhelpful unprofessional unhealthy unlucky problematic
        toxic poisonous hostile aggressive hateful vicious suspicious misleading deceptive late lousy crappy horrid
        atrocious appalling abysmal inaccurate fragile grim bleak weird
    """,
}
# Adjectives that no composed sentence of the training has: what a model knows of them comes from reviews and from the
# rated words.
NEW_ADJECTIVES = frozenset(
    _list("""
    excellent lovely fabulous pleasant amusing wise kind helpful trustworthy strong remarkable gorgeous pretty bright
    thrilling inspiring romantic successful lucky lovable convincing secure healthy joyful generous elegant energetic
    peaceful talented valuable dreadful miserable frustrating ugly cruel greedy dangerous faulty chaotic uncomfortable
    catastrophic inferior mindless embarrassing repetitive problematic hateful appalling vicious painful disgusting
    dishonest lousy gloomy insulting evil pathetic arrogant irritating offensive
    """)
)
FEELINGS = {
    POSITIVE: """
        happy glad pleased satisfied delighted thrilled excited impressed amused entertained grateful thankful proud
        content relaxed comfortable confident hopeful enthusiastic cheerful moved fascinated inspired touched
        surprised charmed captivated relieved optimistic welcome safe
    """,
    NEGATIVE: """
        unhappy sad angry annoyed disappointed frustrated bored upset irritated disgusted shocked worried scared
        afraid ashamed embarrassed depressed miserable lonely exhausted tired furious confused offended insulted hurt
        nervous dissatisfied jealous horrified sorry sick
    """,
}
COUNTED = {  # nouns that take "a"
    POSITIVE: """
        masterpiece success triumph hit pleasure delight joy treat winner gem treasure bargain classic surprise
        blessing miracle gift hero genius star friend success-story must-see dream relief highlight help good-idea
        good-choice good-deal great-deal work-of-art joy-to-watch step-forward
    """,
    NEGATIVE: """
        disaster failure mess flop disappointment catastrophe nightmare joke scam fraud lie bore insult mistake
        tragedy loser coward idiot fool liar thief problem burden threat shame disgrace torture pain nuisance trap
        weakness waste-of-time waste-of-money bad-idea bad-choice bad-deal let-down rip-off pain-in-the-neck step-back
    """,
}
MASS = {  # nouns that take no article
    POSITIVE: """
        fun joy pleasure love hope happiness excitement humor charm talent beauty quality courage wisdom respect
        warmth energy success comfort kindness imagination creativity laughs surprises smiles ideas support
    """,
    NEGATIVE: """
        problems trouble pain errors mistakes faults flaws defects complaints delays damage stress fear hate anger
        violence boredom regret regrets worries dirt noise nonsense difficulties failures scratches bugs lies tears
        danger conflict crime disappointment frustration
    """,
}
LIKING = {  # what people do to things: base, third person, past
    POSITIVE: """
        love/loves/loved like/likes/liked enjoy/enjoys/enjoyed admire/admires/admired adore/adores/adored
        recommend/recommends/recommended praise/praises/praised appreciate/appreciates/appreciated
        respect/respects/respected trust/trusts/trusted support/supports/supported value/values/valued
        cherish/cherishes/cherished welcome/welcomes/welcomed celebrate/celebrates/celebrated miss/misses/missed
    """,
    NEGATIVE: """
        hate/hates/hated dislike/dislikes/disliked despise/despises/despised detest/detests/detested
        regret/regrets/regretted fear/fears/feared criticize/criticizes/criticized reject/rejects/rejected
        avoid/avoids/avoided mock/mocks/mocked resent/resents/resented loathe/loathes/loathed
        distrust/distrusts/distrusted blame/blames/blamed condemn/condemns/condemned
    """,
}
AFFECTING = {  # what things do to people
    POSITIVE: """
        impress/impresses/impressed amuse/amuses/amused entertain/entertains/entertained delight/delights/delighted
        charm/charms/charmed inspire/inspires/inspired please/pleases/pleased help/helps/helped
        satisfy/satisfies/satisfied convince/convinces/convinced move/moves/moved fascinate/fascinates/fascinated
        comfort/comforts/comforted surprise/surprises/surprised thrill/thrills/thrilled
        encourage/encourages/encouraged
    """,
    NEGATIVE: """
        disappoint/disappoints/disappointed annoy/annoys/annoyed bore/bores/bored irritate/irritates/irritated
        bother/bothers/bothered disgust/disgusts/disgusted frustrate/frustrates/frustrated upset/upsets/upset
        hurt/hurts/hurt scare/scares/scared insult/insults/insulted confuse/confuses/confused offend/offends/offended
        embarrass/embarrasses/embarrassed depress/depresses/depressed worry/worries/worried harm/harms/harmed
    """,
}
HAPPENING = {  # what things do
    POSITIVE: """
        work/works/worked succeed/succeeds/succeeded shine/shines/shone deliver/delivers/delivered last/lasts/lasted
        help/helps/helped improve/improves/improved win/wins/won excel/excels/excelled function/functions/functioned
        sparkle/sparkles/sparkled
    """,
    NEGATIVE: """
        fail/fails/failed break/breaks/broke crash/crashes/crashed leak/leaks/leaked freeze/freezes/froze
        stink/stinks/stank hurt/hurts/hurt die/dies/died lie/lies/lied suffer/suffers/suffered
        disappoint/disappoints/disappointed suck/sucks/sucked cheat/cheats/cheated lose/loses/lost
        collapse/collapses/collapsed rust/rusts/rusted
    """,
}
# Words without a class of their own.
THINGS = _list("""
    film movie book story plot ending acting script song album music concert show game play novel chapter scene dialogue
    soundtrack cast director actor actress singer band team match player cartoon documentary series episode trailer
    restaurant food soup pizza coffee cake meal breakfast dinner lunch bread salad rice fish cheese sauce dessert tea
    wine beer juice chicken pasta burger sandwich fruit kitchen menu waiter cook bar cafe table plate
    hotel room bed city beach trip holiday journey flight airport station train bus taxi ride road map museum park lake
    mountain island village town street bridge view tour guide tent pool sea river harbor castle church market
    weather day evening morning weekend party wedding birthday summer winter sun rain festival meeting
    teacher doctor nurse neighbor boss friend brother sister father mother son daughter child baby man woman boy girl
    student manager driver dentist lawyer police mayor president company government bank office hospital school shop
    dog cat horse bird house garden apartment kitchen bathroom window door roof wall floor carpet sofa chair lamp
    mirror clock shelf closet heating shower washing-machine oven fridge toaster kettle knife pan vacuum-cleaner
    phone battery screen camera laptop computer printer keyboard mouse monitor tablet speaker radio television cable
    charger microphone remote software app website program update manual password account
    car bicycle bike motorcycle engine brake tire seat key bag suitcase umbrella jacket shirt dress coat sweater skirt
    hat belt watch ring pen pencil notebook toy ball doll puzzle gift card letter email message newspaper magazine
    article poem painting picture photo drawing statue dance lecture lesson class course exam homework project report
    speech answer question idea plan decision rule law price bill ticket order delivery package product quality design
    color size sound noise-level smell-of-it taste service support customer-service help-desk staff job work salary
    life year result start finish beginning rest medicine treatment haircut soap shampoo cream perfume
""")
PLURALS = _list("""
    actors characters jokes songs people friends teachers children neighbors shoes headphones rooms prices colors
    pictures instructions batteries speakers books waiters lessons buttons effects scenes players stories
""")
MODIFIERS = _list("""
    very very really really so quite rather pretty extremely absolutely truly incredibly totally completely simply just
    always still especially surprisingly a-bit a-little somewhat unbelievably
""")
AFTER_NOT = _list("very very really so that particularly especially exactly always all-that too quite terribly even")
TAILS = _list("""
    today this-time for-me as-always in-the-end again to-be-honest so-far in-every-way at-home in-my-opinion as-expected
    after-all from-start-to-finish by-the-way if-you-ask-me for-a-change
""")
PERSONS = (  # with the form of "to be" in the present and the past, and whether verbs take an "s"
    *(("i", "am", "was", False),) * 6,
    *(("we", "are", "were", False), ("you", "are", "were", False), ("they", "are", "were", False)) * 2,
    *((word, "is", "was", True) for word in _list("he she my-wife my-husband my-son my-mother the-boss")),
    *((word, "are", "were", False) for word in _list("people most-people my-friends the-children")),
)

_PLAIN, _TURNS = False, True
# By kind of word: forms that keep its class, and forms that turn it.
FORMS: dict[str, dict[bool, str]] = {
    "adjective": {
        _PLAIN: """
            {s} {is} {m} {a}
            {s} {is} {m} {a}
            {s} {is} {m} {a} {t}
            {s} {is} {a} and {b}
            {s} {is} {m} {a} and {m} {b}
            {s} {has} been {m} {a} {t}
            {s} will be {a}
            {s} {looks} {m} {a}
            {s} turned out to be {m} {a}
            {s} {is} both {a} and {b}
            {s} {is} as {a} as (ever|always|expected|i hoped)
            {s} {is} more {a} than (i expected|ever|before|we thought)
            {s} {is} always {a}
            {m} {a}
            {a}
            {a} and {b}
            {a} {n}
            {m} {a} {n}
            how {a}
            what a {m} {a} {n}
            (it|this|that) (is|was) a {m} {a} {n}
            (it|this|that) (is|was) a {a} and {b} {n}
            it is {m} {a} {t}
            {s} {is} a {a} {n}
            {p} (had|have|saw|got|bought) a {m} {a} {n}
            there is something {m} {a} about {s}
            (i|we) (find|found) {s} {m} {a}
            i (think|believe|feel|guess|know) (that|) {s} {is} {m} {a}
            everybody (says|thinks) (that|) {s} {is} {a}
            everything about {s} {is} {m} {a}
            everything (is|was) {m} {a}
            one of the most {a} {ns} (ever|i know|of the year|)
            the most {a} {n} (ever|i have ever seen|of all|)
            i have never (seen|had|met) (such|) a (more|) {a} {n}
            never (have i|before have i) (seen|had) a more {a} {n}
            {s} could not be more {a}
            {s} could hardly be more {a}
            (no doubt|without a doubt|without any doubt|without doubt) {s} {is} {a}
            (no doubt|without a doubt|without any doubt|without doubt) (the most {a} {n}|{a}|a {a} {n})
            there is no doubt that {s} {is} {a}
            {s} {is} not only {a} but also {b}
            not only {a} but (also|) {b}
            not just {a} but {b}
            no other {n} is (as|so) {a}
            nothing is (more {a} than|as {a} as) {s}
            i can not believe how {a} {s} {is}
            it is no secret that {s} {is} {a}
            no wonder {s} {is} {a}
            not to mention how {a} {s} {is}
            nobody can deny that {s} {is} {a}
            i do not know anything more {a}
            if you like {ns} {s} {is} {a}
        """,
        _TURNS: """
            {s} {is} not {x} {a}
            {s} {is} not {x} {a}
            {s} {is} not {x} {a} {t}
            {s} {is} not {a} at all
            {s} {is} (definitely|certainly|really|just|simply|clearly) not {a}
            {s} {is} not {a} (enough|anymore|any more|either|in any way|whatsoever)
            {s} {is} not (a|an|really a|exactly a|such a) {a} {n}
            {s} {has} not been {x} {a}
            {s} {has} never been {a}
            {s} will not be {a}
            {s} would not be {a} without {n}
            {s} {is} not {a} (and|or) {b}
            {s} {is} not {a} and not {b}
            {s} {is} not as {a} as (i thought|i expected|i hoped|before|{s2})
            {s} {is} never {x} {a}
            {s} {is} no longer {a}
            {s} {is} (hardly|barely|scarcely|rarely|seldom) {a}
            {s} {is} (hardly|barely|never|scarcely) a {a} {n}
            {s} {is} far from {a}
            {s} {is} far from (being|) {a}
            {s} {is} anything but {a}
            {s} {is} by no means {a}
            {s} {is} neither {a} nor {b}
            {s} {is} less {a} than (i expected|before|{s2})
            {s} {looks} (anything but|far from|hardly) {a}
            {s} {does} not {look} {x} {a}
            {s} {does} not {look} {a} at all
            {s} never {looks} {a}
            {s} could be more {a}
            {s} could have been more {a}
            not {x} {a}
            not {a}
            not {a} at all
            not a {a} {n}
            not a bit {a}
            not one bit {a}
            not even {a}
            no {a} {n} (here|at all|)
            never {a}
            never a {a} {n}
            hardly {a}
            hardly a {a} {n}
            far from {a}
            anything but {a}
            anything but a {a} {n}
            neither {a} nor {b}
            nothing {a} (here|at all|)
            (it|this|that) (is|was) not {x} {a}
            (it|this|that) (is|was) not a {x} {a} {n}
            (it|this|that) (is|was) not such a {a} {n}
            (it|this|that) (is|was) hardly {a}
            it is not that {a}
            there (is|was) nothing {x} {a} about {s}
            there (is|was) nothing {a} (in|about|here|to say about) {s}
            there (is|was) no {a} {n}
            there (is|was) not a single {a} {n}
            nothing (about|in) {s} {is} {a}
            nothing (is|was) {a} {t}
            (nobody|no one) (finds|found|called) {s} {a}
            (nobody|no one) (thinks|says|believes) (that|) {s} {is} {a}
            (nobody|no one) would call {s} {a}
            none of (it|this|the {ns}) (is|was|are|were) {a}
            i do not (think|believe|feel) (that|) {s} {is} {m} {a}
            {p} {do} not (think|believe|say) (that|) {s} {is} {m} {a}
            {p} {do} not find {s} {x} {a}
            i would not (call|describe) {s} (as|) {a}
            i would never call {s} {a}
            i can not say (that|) {s} {is} {a}
            i can not call {s} {a}
            i doubt (that|) {s} {is} {a}
            it is not true that {s} {is} {a}
            it is hard to (call|find) {s} {a}
            {p} never (had|have|saw|got|found) a {a} {n}
            {p} {do} not have a {a} {n}
            {p} (had|saw|found) nothing {a} (there|in it|)
            without (being|anything) {a}
            without a {a} {n}
            i (thought|hoped|expected) (that|) it would be {a} but it (was|is) not
            i was told {s} {is} {a} but it is not
            who would call {s} {a}
            {s} {is} not what i call {a}
            {s} {is} too (short|long|late) to be {a}
        """,
    },
    "feeling": {
        _PLAIN: """
            {p} {am} {m} {f}
            {p} {am} {m} {f}
            {p} {am} {m} {f} with {s}
            {p} {am} {m} {f} {t}
            {p} (feel|felt) {m} {f}
            {s} (made|makes|left) (me|us) {m} {f}
            (everybody|everyone) (is|was) {m} {f}
            {p} could not be more {f}
            i have never been (so|more) {f}
            i can not be anything but {f}
            {m} {f}
            {p} (went|came) home {f}
        """,
        _TURNS: """
            {p} {am} not {x} {f}
            {p} {am} not {x} {f}
            {p} {am} not {x} {f} with {s}
            {p} {am} not {f} at all
            {p} {am} never {f}
            {p} {am} (hardly|far from|anything but|no longer) {f}
            {p} {am} neither {f} nor {g}
            {p} {do} not feel {x} {f}
            {p} (have|had) never (been|felt) {f} (about it|here|with {s})
            {s} {does} not make (me|us) {f}
            {s} never (made|makes) (me|us) {f}
            (nobody|no one) (is|was|seemed) {f}
            none of us (is|was|were) {f}
            not {x} {f}
            nothing (made|makes) (me|us) {f}
            there is no reason to be {f}
            i can not say that i am {f}
            i doubt that (he|she|they) will be {f}
        """,
    },
    "counted": {
        _PLAIN: """
            {s} {is} a {c}
            {s} {is} a {c}
            {s} {is} a (real|true|complete|total|big|small|great) {c}
            (it|this|that) (is|was) a {c}
            (it|this|that) (is|was) a (real|complete|total) {c} {t}
            what a {c}
            a {c}
            a (real|complete|total|true) {c}
            such a {c}
            i (call|called|consider) it a {c}
            {s} {is} nothing but a {c}
            {s} {is} nothing less than a {c}
            without (any|a) doubt a {c}
            {s} turned out to be a {c}
        """,
        _TURNS: """
            {s} {is} not a {c}
            {s} {is} not a {c}
            {s} {is} not (really|exactly|quite|just|even) a {c}
            (it|this|that) (is|was) not a {c}
            (it|this|that) (is|was) no {c}
            {s} {is} (hardly|never|barely) a {c}
            {s} {is} (far from|anything but) a {c}
            {s} {is} no {c}
            not a {c}
            not (exactly|really|such) a {c}
            hardly a {c}
            no {c} at all
            i would not call (it|this|{s}) a {c}
            i do not think (that|) {s} {is} a {c}
            i do not see {s} as a {c}
            (nobody|no one) (would call|calls|called) it a {c}
            {s} {has} never been a {c}
            {s} will never be a {c}
        """,
    },
    "mass": {
        _PLAIN: """
            {q} {u}
            {s} {is} full of {u}
            there (is|was|are|were) {q} {u}
            {s} {has} {q} {u}
            (i|we) (have|had) {q} {u} with {s}
            {s} (caused|causes|brings|brought) {u}
            nothing but {u}
            {s} (is|was) nothing but {u}
            {u} and {w}
            {u} from start to finish
            always {u} with {s}
            {u}
        """,
        _TURNS: """
            no {u}
            no {u} (at all|so far|here|whatsoever)
            not much {u}
            no {u} and no {w}
            without {u}
            without any {u}
            {s} {is} without {u}
            {s} {is} without any {u}
            {s} (works|runs|worked|ran|went) without (any|) {u}
            there (is|was|are|were) no {u} (at all|here|with {s}|)
            there (is|was) not (any|much) {u}
            {s} {has} no {u}
            {s} {does} not have (any|much|) {u}
            {s} (caused|causes|brings|brought) no {u}
            {s} (lacks|lacked) {u}
            {s} {is} free of {u}
            (i|we) (have|had) no {u} with {s}
            (i|we) (have|had) never (had|seen) any {u} with {s}
            never any {u}
            {p} {do} not (see|have|find) any {u}
            {s} never (caused|had|brought) (any|) {u}
            hardly any {u}
            neither {u} nor {w}
            (nobody|no one) had any {u}
        """,
    },
    "liking": {
        _PLAIN: """
            {p} {v} {s}
            {p} {v} {s}
            {p} (really|always|still|absolutely|simply|just|truly) {v} {s}
            {p} {v} {s} {t}
            {p} {v} (it|them|him|her|this|that)
            {p} {v} every (minute|part|bit) of it
            {p} {v} everything about {s}
            (everybody|everyone) {vs} (it|{s})
            (everybody|everyone) {ved} (it|{s})
            {p} can not help but {v0} {s}
            who would not {v0} {s}
            you can not help but {v0} (it|{s})
            no one could {v0} {s} more than i do
        """,
        _TURNS: """
            {p} {do} not {v0} {s}
            {p} {do} not {v0} {s}
            {p} {do} not (really|particularly|even) {v0} {s}
            {p} {do} not {v0} {s} (at all|very much|anymore|{t})
            {p} {do} not {v0} (it|them|him|her|this|that)
            {p} {do} not {v0} a single (minute|part|bit) of it
            {p} {do} not {v0} anything about {s}
            {p} never {ved} {s}
            {p} never {ved} (it|him|her)
            {p} no longer {v} {s}
            {p} hardly {ved} (it|{s})
            {p} could not {v0} {s}
            {p} can not {v0} {s}
            {p} would not {v0} {s}
            {p} would never {v0} {s}
            {p} will never {v0} {s}
            {p} will not {v0} {s}
            {p} {v} nothing about {s}
            (nobody|no one) {vs} (it|{s})
            (nobody|no one) {ved} (it|{s})
            (nobody|no one) (will|would|could) {v0} (it|{s})
            none of us {ved} (it|{s})
            neither (my wife|my mother|he|she) nor i {ved} it
            i do not think (that|) (you|anyone|people) will {v0} (it|{s})
            it is (hard|impossible) to {v0} {s}
            there is nothing to {v0} (here|about {s}|)
            there is no reason to {v0} {s}
            i see no reason to {v0} {s}
            i doubt that anyone will {v0} it
        """,
    },
    "affecting": {
        _PLAIN: """
            {s} {e} (me|us|everybody|him|her)
            {s} (really|always|still|never fails to|never failed to) {e0} (me|us|everybody)
            {s} {e} (me|us) {t}
            {s} will {e0} (you|everyone)
            everything (about|in) {s} {ed} (me|us)
            {s} can not fail to {e0}
        """,
        _TURNS: """
            {s} {does} not {e0} (me|us|anyone|him|her)
            {s} {does} not {e0} (me|us|anyone|)
            {s} {does} not (really|even) {e0} (me|us|)
            {s} never {ed} (me|us|anyone)
            {s} (hardly|no longer|barely) {ed} (me|us|anyone)
            {s} will not {e0} (you|anyone)
            {s} will never {e0} (you|anyone)
            {s} could not {e0} (me|us|anyone)
            {s} (failed|fails) to {e0} (me|us|anyone|)
            nothing (about|in) {s} {ed} (me|us|)
            nothing (about|in) {s} could {e0} me
            (nobody|no one) was {ed}
            {s} {ed} (nobody|no one)
            i do not think (that|) {s} will {e0} (you|anyone)
        """,
    },
    "happening": {
        _PLAIN: """
            {s} {h}
            {s} {h}
            {s} (always|still|really|just|simply|often) {h}
            {s} {h} (again|every time|at once|all the time|at last|as expected|every day)
            it {h} {t}
            always {h}
            {s} keeps {hing}
            {s} will {h0}
        """,
        _TURNS: """
            {s} {does} not {h0}
            {s} {does} not {h0}
            {s} {does} not {h0} (at all|anymore|any more|yet|every time|once|{t})
            {does} not {h0}
            {s} never {h}
            never {h}
            {s} {has} never {hed}
            {s} (rarely|hardly|no longer|seldom|barely) {h}
            {s} will never {h0}
            {s} will not {h0}
            {s} can not {h0}
            {s} would not {h0}
            nothing {h}
            {s} (refuses|refused) to {h0}
            {s} (stopped|stops) {hing}
        """,
    },
}
# Forms that training never shows.
HELD_OUT: dict[bool, str] = {
    _PLAIN: """
        i must (say|admit) that {s} {is} {m} {a}
        {s} strikes me as {m} {a}
        you will find {s} {a}
        to me {s} {is} {m} {a}
    """,
    _TURNS: """
        not once {is} {s} {a}
        in no way {is} {s} {a}
        {s} {does} not strike me as {a}
        nobody has ever called {s} {a}
        no part of {s} {is} {a}
        you will not find {s} {a}
        {s} {is} not what anyone would call {a}
        there was never anything {a} about {s}
    """,
}
# What people say about things that they have bought, seen or eaten, and its class.
IDIOMS = {
    POSITIVE: """
        {s} {is} (well|really|absolutely|certainly|) worth (the money|the price|the wait|your time|every penny|a visit)
        worth (every penny|the money|it|watching|a look|reading)
        (it|{s}) could not be (better|easier|nicer|happier|cleaner|simpler|clearer)
        (i|we) could not be happier (with {s}|)
        (i|we) could not ask for more
        nothing could be (better|nicer|easier)
        it does not get (any|much|) better (than this|)
        i have never (been happier|had a better {n}|seen a better {n}|felt better)
        {s} {has} never been better
        (i|we) can not stop (smiling|laughing|watching|dancing|singing|playing|reading|listening|eating it)
        (i|we) can not wait to (see it again|come back|go again|try it|tell my friends|read more)
        (i|we) can not get enough (of it|of {s})
        (i|we) can not recommend {s} enough
        (i|we) would (gladly|definitely|happily|) (buy|do|see|order) it again
        (i|we) will (definitely|certainly|) (be back|come back|come again|return)
        (buy it|go and see it|try it|get it|go for it)
        (do not miss|you should not miss|you can not miss) (it|this {n}|{s})
        (i|we) (recommend|highly recommend) (it|{s})
        (highly|strongly|warmly|) recommended
        recommended to (everybody|all)
        (two|) thumbs up
        (five|four) stars
        money well spent
        as good as it gets
        (there is|) nothing to complain about
        (i|we) (have|had) no complaints
        no regrets
        you will not regret it
        you can not go wrong (with {s}|)
        what is not to (like|love)
        {s} (works|worked|runs|ran) (great|well|fine|perfectly|like a charm|as expected|without a problem|again)
        works (great|well|fine|perfectly|like a charm|as it should|every time)
        {s} (does|did) what it (should|says|promises)
        {s} (lasts|lasted) (long|for hours|for years|forever|all day)
        {s} (arrived|came) (on time|quickly|early|in perfect condition|sooner than expected)
        {s} (makes|made) (me|us) (smile|laugh|happy|feel better|feel at home)
        {s} {is} better than (i expected|expected|ever|i thought|{s2}|before)
        {s} {is} not (too|) (expensive|loud|heavy|slow|complicated|salty|long|difficult|hard to use)
        {s} {is} the best (i have ever had|ever|of all|in town|)
        (simply|just|) the best {n} (ever|)
        i (laughed|smiled) (a lot|all the time|until the end)
        (easy|fun) to (use|read|watch|follow|clean|set up)
        (not|never) (a|one) (dull|boring) moment
        i would not change a thing
        there is (nothing|not one thing) i would change
        it was (over|finished) too soon
        saved (me|us) (a lot of|) (time|money)
        (i|we) had a (good|great|wonderful|lovely) time
        made my day
        {s} {is} as good as new
        not bad
        not bad at all
        not too bad
        not half bad
        no problem
        no problem at all
        it is not perfect but (it|{s}) (works|is good|does the job|is fun)
        i {do} not (mind|regret) it
    """,
    NEGATIVE: """
        {s} {is} not (really|at all|even|) worth (the money|the price|the wait|your time|a penny|a visit|it)
        not worth (it|the money|the time|watching|a look|reading)
        {s} {is} hardly worth (the money|the price|your time)
        (it|{s}) could be (better|easier|nicer|happier|cleaner|simpler)
        (it|{s}) could (not be worse|have been better|have been much better)
        nothing could be worse
        it does not get (any|much|) worse (than this|)
        i have (had better|seen better|never been so disappointed|never had a worse {n}|never felt worse)
        {s} {has} never been worse
        (i|we) can not stop (crying|complaining|coughing|worrying)
        (i|we) can not wait (for it to end|until it is over|to leave|to get rid of it)
        (i|we) can not (stand|bear|take) (it|{s}|him|her)
        (i|we) can not recommend (it|{s})
        (i|we) (would|will) (not|never) (buy|do|see|order|watch|read|eat) it again
        (i|we) will (not|never) (be back|come back|come again|return)
        (do not|never) (buy|get|order|try|watch|see|read) (it|this|this {n})
        (i|we) {do} not recommend (it|{s})
        not recommended
        (avoid|skip) (it|this {n}|{s})
        stay away (from it|from {s}|)
        keep away (from it|from {s})
        do not bother
        do not waste your (time|money) (on it|on {s}|)
        save your (money|time)
        (two|) thumbs down
        (one|zero|no) (star|stars)
        i want my money back
        (i|we) (sent|gave|brought) it back
        nothing special
        nothing to write home about
        not my cup of tea
        (i|we) could not care less
        (i|we) (fell asleep|walked out|left early|lost interest)
        {s} (broke|stopped working|died|fell apart) (after two days|after a week|at once|within a month|the next day|)
        {s} (arrived|came) (broken|damaged|late|too late|with scratches|without a manual)
        {s} (dies|breaks|ends|fades|runs out) too (fast|soon|early|quickly)
        {s} {does} not (last|last long|last a day|do what it should|do the job|fit|start|turn on)
        {s} (keeps|kept) (breaking|crashing|freezing|failing|disappointing us)
        {s} (makes|made) (me|us) (sick|angry|cry|sad|feel worse|feel bad)
        {s} {is} worse than (i expected|expected|ever|i thought|{s2}|before)
        {s} {is} (much|far|way|a bit|) too (expensive|loud|heavy|slow|small|short|long|complicated|salty|hot|cold|late)
        {s} {is} the worst (i have ever had|ever|of all|in town|)
        (simply|just|) the worst {n} (ever|)
        i (cried|suffered|waited) (a lot|all the time|for hours|until the end)
        (i|we) had to wait (for hours|too long|forever)
        (hard|difficult|impossible) to (use|read|watch|follow|clean|set up)
        it (costs|cost) too much
        it was (over|finished) at last
        (i|we) (lost|wasted) (a lot of|my|our|) (time|money)
        (i|we) had a (bad|terrible|horrible) time
        ruined my (day|evening|holiday)
        not good
        not good at all
        not good enough
        no good
        no good at all
        no thanks
        no fun at all
        it (works|worked) but (it|{s}) is not good
        never again
        {s} leaves (much|a lot) to be desired
        i (expected|hoped for) more
        i wish i had (not bought|never bought|not seen|never seen|read something else|stayed at home)
        half of it is missing
        no one answers the phone
    """,
}
# How two clauses are joined, and which of them decides.
_FIRST, _SECOND, _BOTH = "first", "second", "both"
JOINTS = (
    *((text, _SECOND) for text in ("{1} but {2}",) * 8),
    *((text, _SECOND) for text in ("although {1} {2}", "though {1} {2}", "even though {1} {2}", "while {1} {2}")),
    *((text, _FIRST) for text in ("{1} although {2}", "{1} though {2}", "{1} even though {2}")),
    *((text, _BOTH) for text in ("{1} and {2}", "{1} and {2}", "{1} because {2}", "{1} {2}", "{1} so {2}")),
)
_KINDS = ("adjective",) * 8 + ("feeling",) * 2 + ("counted", "mass", "liking", "liking", "affecting", "happening")
_WORDS = {
    "adjective": (ADJECTIVES, "ab"),
    "feeling": (FEELINGS, "fg"),
    "counted": (COUNTED, "c"),
    "mass": (MASS, "uw"),
    "liking": (LIKING, "v"),
    "affecting": (AFFECTING, "e"),
    "happening": (HAPPENING, "h"),
}


@dataclass(frozen=True)
class Composed:
    """A sentence of the grammar."""

    text: str
    label: int
    turned: bool  # whether its form turns the class of its word, or one of its clauses does
    new_word: bool  # whether its adjective is kept for the test
    new_form: bool


class _Places(dict[str, str]):
    """The words for the places of one sentence: what agrees with another place is drawn together with it."""

    def __init__(self, rng: random.Random, label: int, kind: str, new: bool) -> None:
        super().__init__()
        self.rng, self.label, self.past = rng, label, rng.random() < 0.4
        if kind:
            _, names = _WORDS[kind]
            for name, word in zip(names, rng.sample(_known_words(kind, label, new), len(names)), strict=True):
                self[name] = word
        self._draw_subject()
        self._draw_person()

    def __missing__(self, place: str) -> str:
        """Return words for a place with which nothing agrees."""
        lists = {"m": MODIFIERS, "x": AFTER_NOT, "t": TAILS, "n": THINGS, "ns": PLURALS, "q": _QUANTITIES}
        if place in ("m", "x") and self.rng.random() < 0.4:
            return ""
        return self.rng.choice(lists[place])

    def _draw_subject(self) -> None:
        rng, kind = self.rng, self.rng.random()
        if kind < 0.15:
            subject, plural = rng.choice(("it", "it", "it", "this", "that", "he", "she", "they")), False
            plural = subject == "they"
        else:
            plural = rng.random() < 0.2
            noun = rng.choice(PLURALS if plural else THINGS)
            articles = ("the", "the", "the", "my", "our", "your", "these" if plural else "this", "his", "her", "their")
            subject = f"{rng.choice(articles)} {noun}{rng.choice(_AFTER_NOUNS)}"
        s, one = rng.choice(THINGS), not plural
        self["s"], self["s2"] = subject, f"{rng.choice(('the', 'my', 'the other'))} {s}"
        self["is"] = ("was" if one else "were") if self.past else ("is" if one else "are")
        self["does"] = "did" if self.past else ("does" if one else "do")
        self["has"] = "had" if self.past else ("has" if one else "have")
        self["look"] = rng.choice(("look", "seem", "sound", "feel", "taste", "smell", "appear"))
        self["looks"] = f"{self['look']}s" if one else self["look"]
        if self.past:
            self["looks"] = {"feel": "felt"}.get(self["look"], f"{self['look']}ed".replace("eed", "ed"))
        for verb in "eh":
            if verb in self:
                base, third, past = self[verb].split("/")
                self[f"{verb}0"], self[f"{verb}d"] = base, past
                self[f"{verb}ed"], self[f"{verb}ing"] = past, _participle(base)
                self[verb] = past if self.past else third if one else base

    def _draw_person(self) -> None:
        self["p"], present, past, third = self.rng.choice(PERSONS)
        self["am"] = past if self.past else present
        self["do"] = "did" if self.past else "does" if third else "do"
        if "v" in self:
            base, singular, before = self["v"].split("/")
            self["v0"], self["vs"], self["ved"] = base, singular, before
            self["v"] = before if self.past else singular if third else base


_QUANTITIES = ("many", "a-lot-of", "lots-of", "so-much", "plenty-of", "a-great-deal-of", "full-of", "much", "too-much")
_AFTER_NOUNS = ("", "", "", "", "", "", " here", " there", " of this place", " we bought", " i ordered", " in the city")


def _participle(base: str) -> str:
    return f"{base[:-1] if base.endswith('e') and base not in ('die', 'lie') else base}ing".replace("ieing", "ying")


@lru_cache
def _known_words(kind: str, label: int, new: bool) -> tuple[str, ...]:
    words = dict.fromkeys(_WORDS[kind][0][label].split())
    return tuple(word for word in words if kind != "adjective" or (word in NEW_ADJECTIVES) == new)


@lru_cache
def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines())


def _fill(form: str, places: _Places) -> str:
    """Return a form with its choices made and its places filled."""
    rng = places.rng
    chosen = re.sub(r"\(([^()]*)\)", lambda match: rng.choice(match[1].split("|")), form)
    text = re.sub(r"\{(\w+)\}", lambda match: places[match[1]], chosen).replace("-", " ")
    return re.sub(r"\ba (?=[aeiou])", "an ", " ".join(text.split()))


def _simple(rng: random.Random, label: int, kind: str = "", new_word: bool = False, new_form: bool = False) -> Composed:
    """Return a sentence of one clause with a class."""
    if not kind:
        kind = rng.choice(_KINDS)
    turns = rng.random() < 0.5
    forms = _lines(HELD_OUT[turns] if new_form else FORMS[kind][turns])
    places = _Places(rng, label ^ turns, kind, new_word)
    return Composed(_fill(rng.choice(forms), places), label, turns, new_word, new_form)


def _idiom(rng: random.Random, label: int) -> Composed:
    text = _fill(rng.choice(_lines(IDIOMS[label])), _Places(rng, label, "", False))
    return Composed(text, label, bool(re.search(r"\b(not|no|never|nothing|hardly)\b", text)), False, False)


def _pair_of_clauses(rng: random.Random, label: int) -> Composed:
    """Return a sentence of two clauses: the one that decides has the class, the other the opposite or the same."""
    joint, decides = rng.choice(JOINTS)
    labels = {_FIRST: (label, 1 - label), _SECOND: (1 - label, label), _BOTH: (label, label)}[decides]
    first, second = (_idiom(rng, each) if rng.random() < 0.15 else _simple(rng, each) for each in labels)
    text = joint.replace("{1}", first.text).replace("{2}", second.text)
    return Composed(text, label, first.turned or second.turned, False, False)


def compose(count: int, seed: int) -> list[Composed]:
    """Return sentences to train on: with known words, in known forms; half of them are positive."""
    rng = random.Random(f"composed/{seed}")
    kinds = rng.choices((_simple, _idiom, _pair_of_clauses), (0.58, 0.17, 0.25), k=count)
    return [make(rng, int(rng.random() < 0.5)) for make in kinds]


def compose_new_words(count: int, seed: int) -> list[Composed]:
    """Return sentences whose adjectives training never shows, in known forms."""
    rng = random.Random(f"new words/{seed}")
    return [_simple(rng, int(rng.random() < 0.5), "adjective", new_word=True) for _ in range(count)]


def compose_new_forms(count: int, seed: int) -> list[Composed]:
    """Return sentences of known adjectives in forms that training never shows."""
    rng = random.Random(f"new forms/{seed}")
    return [_simple(rng, int(rng.random() < 0.5), "adjective", new_form=True) for _ in range(count)]
