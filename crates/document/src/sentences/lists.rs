//! Word lists for the detection of sentence ends, separated by blanks and in lower case.

/// Titles, which a name follows. They count only with a capital letter, unless the text has none.
pub(super) const TITLES: &str = "
    adj adm brig capt cmdr col cpl dhr dipl doc dott dr dra drs fr frl gen gov hl hon hr hrn ing insp ir judr lt mag
    maj messrs mevr mgr mlle mlles mm mme mmes mr mrs ms mudr mx phdr phil pres prof pvt rep rev sen sgt sig sigg sra
    sras sres srta sta ste sto ud uds vd vds yrd κα акад доц мр проф тов
    avv cel cnel dña egr excmo exmo gral joh ks mons pr seb spett św δρ κα καθ डॉ पं प्रो
";

/// Abbreviations in the middle of a sentence.
pub(super) const NEVER: &str = "
    a.k.a abb afb allg anm approx aufl bd bijv bkz bl.a blz bspw bzgl bzw ca cf chap d.h d.w.z dott doç dr drs dvs e.g
    ehem einschl env eq evtl exkl f.eks figs févr geb gegr gest ggf i.d.r i.e ing inkl insb inż janv juil kap kl lfd
    m.in mgr napr např np nr núm o.g p.e p.ej p.ex pp prof pág págs resp s.o s.u sig sigg sog sra sras sres srta t.ex
    tgl tj tzn tzv tél u.u v.d verh vgl viz vols vs vö z.b zb zif ziff zzgl örn öğr čl π.χ акад вул доц напр проф рис
    св сс стр т.е табл ул №
    gem ul
";

/// Abbreviations that belong to a number after them; elsewhere they are words at the end of a sentence.
pub(super) const BEFORE_NUMBER: &str = "
    abs apr art aug bl cap cc ch dec dez déc ed feb fig gl jan jul jun lib mar max min mind nn no nos nov num nº oct
    okt op pag par pg pos poz rd rys sec sep sept str tab tel ver vol гл ст
    aprox godz hfst rozdz réf ust доб кв ок αρ εικ
";

/// Abbreviations that may end a sentence, or be followed by a name.
pub(super) const UNCLEAR: &str = "
    al assoc av avda ave blvd bros co corp cía dept dist eds ej ex ft gmbh hrsg inc jr llc ltd ltda mt plc sr ss st
    std вв гг дол др им коп млн млрд пр руб см ср тыс
    cia mio mrd mwst
";

/// Words after which a number with a full stop is an ordinal, as in the German "der 3. Oktober".
pub(super) const BEFORE_ORDINAL: &str = "
    ab am beim bis das dem den der des det die diesem diesen dieser ihr ihre ihrem ihren ihrer im jede jedem jeden
    jeder jedes mein meine meinem meinen meiner oder sein seine seinem seinen seiner seit und unser unsere unserem
    unseren vom zum zur
";

/// Words that follow ordinals and have a capital letter.
pub(super) const AFTER_ORDINAL: &str = "
    april aralık august ağustos bundesliga dezember ekim etage eylül feber februar geburtstag haziran jahrhundert
    jahrhunderts jahrtausend januar juli juni jänner kasım klasse liga mai mart mayıs märz nisan november ocak oktober
    platz semester september spieltag stock stockwerk temmuz weltkrieg weltkrieges weltkriegs şubat
";

/// Words that rarely stand after an abbreviation within a sentence when they have a capital letter.
pub(super) const STARTERS: &str = "
    a after all also although an and another are as at because before but by can did do does during each every
    everyone few for from had has have he her here his how however i if in is it its later let many meanwhile most my
    no nobody not now of on one only or other our please several she since so some someone such that the their then
    there these they this those though to today two three under until was we were what when where which while who why
    with yes yet you your people both thus therefore next once der die das den dem des ein eine einen einem einer er
    sie es wir ihr ich du man und aber oder doch denn wenn weil als auch auf bei bis da dann dabei dafür damit danach
    daher deshalb dies diese dieser dieses diesen dort durch für gegen heute hier im ihre ist jede jeder jedes jetzt
    kein keine mein meine mit nach nicht noch nun nur ob ohne sein seine seit sind über um unser unter viele vom von
    vor während war wann warum wer wie wo zu zum zur zwei zwar ce ces cet cette ceci cela mais et il ils elle elles je
    tu nous vous le la les un une dans pour par avec sans sur sous si quand que qui quoi comme puis alors donc ensuite
    est sont son sa ses leur leurs mon ma mes notre deux plusieurs après avant aussi oui non où pourquoi comment
    chaque tout tous en el los las una uno unos unas y pero como cuando donde este esta estos estas eso ese esa ella
    ellos ellas yo nosotros sí se su sus también después dos entonces luego hoy ahora por para con sin según al porque
    o os uma e mas ele ela eles elas eu não sim isso isto esse essa também depois quando na gli lo io lui lei noi loro
    questo questa questi queste però anche poi dopo prima sono è era c'è perché nel nella due che chi cosa els aquest
    aquesta acest această și dar după sunt ei am în cu pe het een de zij hij wij jij ze ik dit dat deze maar toen dan
    daarna ook voor met van op naar niet waarom hoe wat waar twee det han hon hun vi ni jag jeg ett och og men när då
    där detta dette dessa disse efter etter med på för til två hän me te minä sinä ja mutta kun jos nyt sitten tämä
    nämä ne kaksi ten ta ona ono oni wy ale jest są gdy kiedy jak nie tak w z po dla dwa jej jego potem tento tato
    toto já když jako byl byla bylo jsou pak dva v s он она оно они мы вы я ты это этот эта эти но и а в на с по для
    когда если как что потом затем после его её их мой моя наш не да нет два все там тогда так у к о від він вона воно
    вони ми ви це цей ця ці але та і й коли якщо як потім після його її їх той тя те ние аз това bu şu bir ve ama biz
    siz onlar ben sen sonra için iki az egy ez és ő ők én mi ha majd két nem ο η το οι τα ένας μια ένα και αλλά αυτός
    αυτή αυτό εγώ εμείς όταν αν μετά δεν δύο
";

/// Starters that also begin surnames, as in "R. De Niro". After an initial, they decide nothing.
pub(super) const PARTICLES: &str = "
    al an da das de del den der die dos du el in la le les lo no on so to van von
";

/// French and Italian words that are joined with the next one.
pub(super) const ELIDED: &str = "
    all c d dell j l m n nell qu quest s t un
";
